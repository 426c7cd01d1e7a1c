-- leadership-lead: a candidate asks to lead, or to go on leading.
--
-- KEYS[1] string  `<ms until which it leads> <leader>`
-- ARGV[1] candidate     ARGV[2] for how long, ms
--
-- leader, ms that it leads from now
--
-- Atomic, because two candidates that ask at once must not both be told that they lead.

local now = nowMs()
local present = redis.call('GET', KEYS[1])
if present then
  local untilMs, leader = string.match(present, '^(%d+) (.*)$')
  local remaining = tonumber(untilMs) - now
  if leader ~= ARGV[1] and remaining > 0 then return { leader, wholeNumber(remaining) } end
end
redis.call('SET', KEYS[1], wholeNumber(now + tonumber(ARGV[2])) .. ' ' .. ARGV[1])
return { ARGV[1], ARGV[2] }
