-- schedule-hurry: somebody says that these jobs must be served before all others, for a while.
--
-- KEYS[1] zset  jobs that are in a hurry, by the time (ms) until which they are
-- ARGV[1] for how long, ms     ARGV[2], … job ids
--
-- noted
--
-- A script because the time is the store's.

local now = nowMs()
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', wholeNumber(now))
local untilMs = wholeNumber(now + ARGV[1])
for i = 2, #ARGV do
  redis.call('ZADD', KEYS[1], untilMs, ARGV[i])
end
return 'noted'
