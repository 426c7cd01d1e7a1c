-- leadership-resign: a candidate does not lead any more.
--
-- KEYS[1] string  `<ms until which it leads> <leader>`
-- ARGV[1] candidate
--
-- resigned
--
-- Atomic, because somebody else may lead by now, and must not lose the role.

local present = redis.call('GET', KEYS[1])
if present and string.match(present, '^%d+ (.*)$') == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 'resigned'
