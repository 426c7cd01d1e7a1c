-- schedule-workers: who announced itself, and when. Those that have been silent for long are forgotten.
--
-- KEYS[1] hash  workers
-- ARGV[1] silence after which a worker is forgotten, ms
--
-- now (ms), then one text a worker: `<ms> <announcement>`
--
-- Atomic, because a worker that announces itself between look and removal must stay.

local now = nowMs()
local answer = { wholeNumber(now) }
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  local atMs = tonumber(string.match(fields[i + 1], '^%d+'))
  if now - atMs > tonumber(ARGV[1]) then
    redis.call('HDEL', KEYS[1], fields[i])
  else
    answer[#answer + 1] = fields[i + 1]
  end
end
return answer
