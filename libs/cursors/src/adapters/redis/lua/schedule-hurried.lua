-- schedule-hurried: the jobs that must be served before all others. What has not been said again is forgotten.
--
-- KEYS[1] zset  jobs that are in a hurry, by the time (ms) until which they are
--
-- job id, …
--
-- A script because the time is the store's.

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', wholeNumber(nowMs()))
return redis.call('ZRANGE', KEYS[1], 0, -1)
