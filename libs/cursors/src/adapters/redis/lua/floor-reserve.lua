-- floor-reserve: registers the lowest offset that a holder needs, for a while.
--
-- KEYS[1] hash  the floors of one place
-- ARGV[1] holder     ARGV[2] offset     ARGV[3] time until the reservation runs out, ms
--
-- reserved <floor> | below <mark> | incomplete
--
-- Atomic, because the mark must not pass the offset between the look at the mark and the write.

local field = 'floor:' .. ARGV[1]
local place = redis.call('HMGET', KEYS[1], 'incarnation', 'mark', field)
if not isServedBy(place[1]) then return 'incomplete' end
local offset, held = ARGV[2], place[3]
if held and not below(offset, held) then
  offset = string.sub(held, 1, WIDTH)
elseif below(offset, place[2]) then
  return 'below ' .. place[2]
end

local stays = held and #held == WIDTH
local floor = stays and offset or offset .. ':' .. wholeNumber(nowMs() + ARGV[3])
redis.call('HSET', KEYS[1], field, floor)
return 'reserved ' .. offset
