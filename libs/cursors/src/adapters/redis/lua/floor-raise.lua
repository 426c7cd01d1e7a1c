-- floor-raise: raises the floor of a holder, never lowers it.
--
-- KEYS[1] hash  the floors of one place
-- ARGV[1] holder     ARGV[2] offset
--
-- raised <floor> | unknown | incomplete
--
-- Atomic, because of two writers the higher floor must stay.

local field = 'floor:' .. ARGV[1]
local place = redis.call('HMGET', KEYS[1], 'incarnation', field)
if not isServedBy(place[1]) then return 'incomplete' end
local held = place[2]
if not held then return 'unknown' end
if not below(held, ARGV[2]) then return 'raised ' .. string.sub(held, 1, WIDTH) end
redis.call('HSET', KEYS[1], field, ARGV[2] .. string.sub(held, WIDTH + 1))
return 'raised ' .. ARGV[2]
