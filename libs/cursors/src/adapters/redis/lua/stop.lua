-- stop: ends the range where it is, with a reason and the offsets that are lost.
--
-- KEYS, ARGV[1..3]   as in prelude-range.lua
-- ARGV[4]            fencing token
-- ARGV[5]            note: why
-- ARGV[6]            lost intervals as JSON text, opaque here
--
-- stopped | fenced | incomplete | not-running
--
-- Atomic, because only the owner of now may give a verdict on the range.

local range, answer = open('fenced', FINISHING)
if not range then return answer end
if not holds(range, ARGV[4]) then return 'fenced' end

redis.call('ZREM', READY, ID)
return changeOnce('stopped',
  'status', 'stopped', 'lost', ARGV[6], 'owner', '', 'leaseUntilMs', '0',
  'note', ARGV[5], 'noteSinceMs', noteSince(range, ARGV[5]))
