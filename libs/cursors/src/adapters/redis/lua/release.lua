-- release: the owner gives the range back before it is done. Works on a halted job too, since letting go is what is wanted.
--
-- KEYS, ARGV[1..3]   as in prelude-range.lua
-- ARGV[4]            fencing token
-- ARGV[5]            time from now until the range may be leased again, ms
-- ARGV[6]            note; empty when there is nothing to say
-- ARGV[7]            1 when this owner handed nothing above the cursor to a handler, else 0
--
-- released | fenced | incomplete
--
-- Atomic, because a release that comes late must not free the range of the next owner.

local range, answer = open('fenced', LETTING_GO)
if not range then return answer end
if not holds(range, ARGV[4]) then return 'fenced' end

local notBeforeMs = wholeNumber(range.now + ARGV[5])
redis.call('ZADD', READY, notBeforeMs, ID)
return changeOnce('released',
  'horizon', ARGV[7] == '1' and range.cursor or range.horizon,
  'owner', '', 'leaseUntilMs', '0', 'notBeforeMs', notBeforeMs,
  'note', ARGV[6], 'noteSinceMs', noteSince(range, ARGV[6]))
