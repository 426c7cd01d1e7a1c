-- floor-install: fills a withheld place with the mark and the floors that stay; the incarnation, last, lets it answer.
--
-- KEYS[1] hash  the floors of one place
-- ARGV[1] life     ARGV[2] incarnation that the caller means to fill     ARGV[3] mark
-- ARGV[4…]         holder and offset, in turn
--
-- installed | superseded
--
-- Atomic, because whoever withheld the place later, or a store that became another one, must win over this one.

local place = redis.call('HMGET', KEYS[1], 'life', 'incarnation')
if place[1] ~= ARGV[1] or not isServedBy(ARGV[2]) then return 'superseded' end
if place[2] == ARGV[2] then return 'installed' end
if place[2] ~= '' then return 'superseded' end
redis.call('HSET', KEYS[1], 'mark', ARGV[3])
for i = 4, #ARGV, 2 do redis.call('HSET', KEYS[1], 'floor:' .. ARGV[i], ARGV[i + 1]) end
redis.call('HSET', KEYS[1], 'incarnation', ARGV[2])
return 'installed'
