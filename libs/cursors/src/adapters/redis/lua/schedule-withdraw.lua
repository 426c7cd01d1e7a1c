-- schedule-withdraw: takes a job off the list, with its permits, what it waits for and its hurry.
--
-- KEYS[1] hash  definitions     KEYS[2] hash  places     KEYS[3] zset  order     KEYS[4] zset  served
-- KEYS[5] zset  permits of all jobs     KEYS[6] zset  those of the job     KEYS[7] hash  what jobs wait for
-- KEYS[8] zset  jobs that are in a hurry
-- ARGV[1] job id
--
-- withdrawn
--
-- Atomic, because the keys name the same jobs.

local place = redis.call('HGET', KEYS[2], ARGV[1])
if place then redis.call('ZREM', KEYS[3], place) end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
for _, slot in ipairs(redis.call('ZRANGE', KEYS[6], 0, -1)) do
  redis.call('ZREM', KEYS[5], ARGV[1] .. ' ' .. slot)
end
redis.call('DEL', KEYS[6])
redis.call('HDEL', KEYS[7], ARGV[1])
redis.call('ZREM', KEYS[8], ARGV[1])
return 'withdrawn'
