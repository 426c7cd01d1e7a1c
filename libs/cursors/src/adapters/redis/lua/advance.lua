-- advance: moves the cursor over what is settled or parked, adds the counters that explain it, and parks.
--
-- KEYS, ARGV[1..3]   as in prelude-range.lua
-- ARGV[4]            fencing token
-- ARGV[5]            cursor as the owner knows it
-- ARGV[6]            the new cursor
-- ARGV[7]            time to live of the lease from now on, ms
-- ARGV[8..18]        what to add to the counters, in the order of COUNTERS
-- ARGV[19…]          the lost intervals that are passed, as in passLost()
-- then               the records to be parked, four values each, as in park()
--
-- advanced <end> <1 when done, else 0> | moved <cursor> | bounds <horizon> <end> | fenced | incomplete | not-running
--
-- Atomic, because cursor, counters, places and parked records must not part at a crash, and because every check must still hold at the
-- write.

local range, answer = open('fenced', FINISHING)
if not range then return answer end
if not holds(range, ARGV[4]) then return 'fenced' end
if range.cursor ~= ARGV[5] then return 'moved ' .. range.cursor end
local to = ARGV[6]
if not below(range.cursor, to) or below(range.horizon, to) or below(range.finish, to) then
  return table.concat({ 'bounds', range.horizon, range.finish }, ' ')
end

addCounters(8)
local parkings = passLost(range, 19)
park(range, parkings)
if to == range.finish and range.parked == '0' and #ARGV < parkings then
  redis.call('ZREM', READY, ID)
  return changeOnce('advanced ' .. range.finish .. ' 1',
    'cursor', to, 'status', 'done', 'owner', '', 'leaseUntilMs', '0', 'note', '', 'noteSinceMs', '0')
end
local leaseUntilMs = wholeNumber(range.now + ARGV[7])
redis.call('ZADD', READY, leaseUntilMs, ID)
return changeOnce('advanced ' .. range.finish .. ' 0',
  'cursor', to, 'leaseUntilMs', leaseUntilMs, 'note', '', 'noteSinceMs', '0')
