-- schedule-propose: the jobs to look at next, each moved to the end of its priority.
--
-- KEYS[1] hash  definitions     KEYS[2] hash  places     KEYS[3] zset  order     KEYS[4] zset  served     KEYS[5] string  turn
-- ARGV[1] how many at most     ARGV[2] every so many turns
--
-- how many jobs are listed, job id, definition, job id, definition, …
--
-- Larger priority first, then whoever waited longest. The last place of an answer with room for several goes to the job that
-- waited longest of all, and so does the only place of every ARGV[2]th turn, so that no number of urgent jobs starves the others.
--
-- Atomic, because two workers that ask at once should get different jobs.

local listedCount = redis.call('ZCARD', KEYS[3])
local limit = tonumber(ARGV[1])
if limit < 1 then return { listedCount } end
local listed = redis.call('ZRANGE', KEYS[3], 0, limit - 1)
local chosen, isChosen = {}, {}
local isTurnOfAll = (redis.call('GET', KEYS[5]) or 0) % ARGV[2] == ARGV[2] - 1
local byPriority = (#listed == limit and (limit > 1 or isTurnOfAll)) and limit - 1 or #listed
for i = 1, byPriority do
  local id = string.sub(listed[i], 33)
  chosen[i] = id
  isChosen[id] = true
end
if byPriority < #listed then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[4], 0, limit - 1)) do
    if not isChosen[id] then
      chosen[limit] = id
      break
    end
  end
end

local answer = { listedCount }
for _, id in ipairs(chosen) do
  local turn = redis.call('INCR', KEYS[5])
  local place = redis.call('HGET', KEYS[2], id)
  local definition = redis.call('HGET', KEYS[1], id)
  if place and definition then
    local moved = string.sub(place, 1, 11) .. string.format('%020.0f', turn) .. ':' .. id
    redis.call('ZREM', KEYS[3], place)
    redis.call('ZADD', KEYS[3], 0, moved)
    redis.call('HSET', KEYS[2], id, moved)
    redis.call('ZADD', KEYS[4], turn, id)
    answer[#answer + 1] = id
    answer[#answer + 1] = definition
  end
end
return answer
