-- floor-confirm: makes a reservation stay, or registers the floor anew when the reservation was passed meanwhile.
--
-- KEYS[1] hash  the floors of one place
-- ARGV[1] holder     ARGV[2] offset     ARGV[3] 1 when the holder had its floor before: then the mark does not matter
--
-- confirmed <floor> | below <mark> | incomplete
--
-- Atomic, because a proposal must come wholly before (it passes the reservation and removes it) or wholly after.

local field = 'floor:' .. ARGV[1]
local place = redis.call('HMGET', KEYS[1], 'incarnation', 'mark', field)
if not isServedBy(place[1]) then return 'incomplete' end
local offset, held = ARGV[2], place[3]
if held and not below(offset, held) then
  offset = string.sub(held, 1, WIDTH)
elseif ARGV[3] ~= '1' and below(offset, place[2]) then
  return 'below ' .. place[2]
end
redis.call('HSET', KEYS[1], field, offset)
return 'confirmed ' .. offset
