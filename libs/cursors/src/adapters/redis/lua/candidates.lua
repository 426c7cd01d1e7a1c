-- candidates: the ranges of a job that can be leased now or soonest.
--
-- KEYS[1] hash  the job        KEYS[2] zset  open ranges by the time they may be leased
-- ARGV[1]       how many at most
--
-- range id, time, range id, time, …; empty when the job is incomplete or not running
--
-- A script only to look at the job in the same step: nobody should run after the ranges of a job that nobody may work on.

local limit = tonumber(ARGV[1])
if limit < 1 then return {} end
local job = redis.call('HMGET', KEYS[1], 'incarnation', 'mode')
if job[2] ~= 'running' or not isServedBy(job[1]) then return {} end
return redis.call('ZRANGE', KEYS[2], 0, limit - 1, 'WITHSCORES')
