-- schedule-waiting: what jobs wait for, and when it was said. What has not been said for long is forgotten.
--
-- KEYS[1] hash  what jobs wait for
-- ARGV[1] silence after which it is forgotten, ms
--
-- job id, `<ms> <reason>`, job id, …
--
-- Atomic, because a job of which it is said again between look and removal must stay.

local now = nowMs()
local answer = {}
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  local atMs = tonumber(string.match(fields[i + 1], '^%d+'))
  if now - atMs > tonumber(ARGV[1]) then
    redis.call('HDEL', KEYS[1], fields[i])
  else
    answer[#answer + 1] = fields[i]
    answer[#answer + 1] = fields[i + 1]
  end
end
return answer
