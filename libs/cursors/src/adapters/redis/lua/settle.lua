-- settle: takes parked records out of the set, or parks them again.
--
-- KEYS, ARGV[1..3]   as in prelude-range.lua
-- ARGV[4]            fencing token
-- ARGV[5]            time to live of the lease from now on, ms
-- ARGV[6..16]        what to add to the counters, in the order of COUNTERS; parked falls by as many as are settled
-- ARGV[17]           how many are settled
-- then               their offsets, the intervals of those that are lost, as in passLost(), and the records to be parked again, four values each, as in park()
--
-- settled <1 when the range is done, else 0> | not-parked <offset> | fenced | incomplete | not-running
--
-- Atomic, because the set and its counter must not part, and because one record that is not parked refuses the whole call.

local range, answer = open('fenced', FINISHING)
if not range then return answer end
if not holds(range, ARGV[4]) then return 'fenced' end

local SETTLED = 18
local lost = SETTLED + ARGV[17]
local again = behindLost(lost)
local function isParked(offset)
  return redis.call('HEXISTS', RANGE, 'parked:' .. offset) == 1
end
for i = SETTLED, lost - 1 do
  if not isParked(ARGV[i]) then return 'not-parked ' .. ARGV[i] end
end
for i = again, #ARGV, 4 do
  if not isParked(ARGV[i]) then return 'not-parked ' .. ARGV[i] end
end

addCounters(6)
for i = SETTLED, lost - 1 do redis.call('HDEL', RANGE, 'parked:' .. ARGV[i]) end
passLost(range, lost)
park(range, again)

if range.cursor == range.finish and range.parked == ARGV[17] then
  redis.call('ZREM', READY, ID)
  return changeOnce('settled 1', 'status', 'done', 'owner', '', 'leaseUntilMs', '0', 'note', '', 'noteSinceMs', '0')
end
local leaseUntilMs = wholeNumber(range.now + ARGV[5])
redis.call('ZADD', READY, leaseUntilMs, ID)
return changeOnce('settled 0', 'leaseUntilMs', leaseUntilMs)
