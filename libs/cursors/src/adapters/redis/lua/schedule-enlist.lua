-- schedule-enlist: puts a job on the list, or changes its definition and priority; its turn is kept.
--
-- KEYS[1] hash  definitions     KEYS[2] hash  places     KEYS[3] zset  order     KEYS[4] zset  served
-- ARGV[1] job id     ARGV[2] definition     ARGV[3] inverted priority (10 digits: smaller is served first)
--
-- enlisted
--
-- Atomic, because the four keys name the same jobs.

local id = ARGV[1]
local place = redis.call('HGET', KEYS[2], id)
local turn = '00000000000000000000'
if place then
  turn = string.sub(place, 12, 31)
  redis.call('ZREM', KEYS[3], place)
end
local moved = ARGV[3] .. ':' .. turn .. ':' .. id
redis.call('HSET', KEYS[1], id, ARGV[2])
redis.call('HSET', KEYS[2], id, moved)
redis.call('ZADD', KEYS[3], 0, moved)
redis.call('ZADD', KEYS[4], tonumber(turn), id)
return 'enlisted'
