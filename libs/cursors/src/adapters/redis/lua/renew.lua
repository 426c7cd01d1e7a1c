-- renew: the owner says that it is alive, and what it waits for.
--
-- KEYS, ARGV[1..3]   as in prelude-range.lua
-- ARGV[4]            fencing token
-- ARGV[5]            time to live of the lease from now on, ms
-- ARGV[6]            note; empty while it works
--
-- renewed | fenced | incomplete | not-running
--
-- Atomic, because a lease that was granted to somebody else between check and write would be taken from its new owner.

local range, answer = open('fenced', FINISHING)
if not range then return answer end
if not holds(range, ARGV[4]) then return 'fenced' end

local leaseUntilMs = wholeNumber(range.now + ARGV[5])
redis.call('ZADD', READY, leaseUntilMs, ID)
change('leaseUntilMs', leaseUntilMs, 'note', ARGV[6], 'noteSinceMs', noteSince(range, ARGV[6]))
return 'renewed'
