-- install-begin: opens the installation of a job, which from here on is incomplete until install-finish.
--
-- KEYS[1] hash  the job
-- ARGV[1] epoch        ARGV[2] incarnation that the caller means to fill        ARGV[3] running, draining or halted
-- ARGV[4] definition   ARGV[5] number of ranges
-- ARGV[6…]             partition (10 digits) and its pinned end, in turn
--
-- fill (go on) | installed (this very epoch is complete already) | stale <epoch> | elsewhere
--
-- Atomic, because of two installers only the one with the younger epoch may go on.

if not isServedBy(ARGV[2]) then return 'elsewhere' end
local stored = redis.call('HMGET', KEYS[1], 'epoch', 'incarnation')
local epoch, incarnation = stored[1], stored[2]
if epoch then
  if below(ARGV[1], epoch) then return 'stale ' .. epoch end
  if epoch == ARGV[1] and incarnation ~= '' then
    -- An epoch that was complete in another life of the store may have granted tokens that this copy has forgotten.
    return isServedBy(incarnation) and 'installed' or 'stale ' .. epoch
  end
end

redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'incarnation', '', 'mode', ARGV[3], 'definition', ARGV[4], 'rangeCount', ARGV[5])
for i = 6, #ARGV, 2 do redis.call('HSET', KEYS[1], 'end:' .. ARGV[i], ARGV[i + 1]) end
return 'fill'
