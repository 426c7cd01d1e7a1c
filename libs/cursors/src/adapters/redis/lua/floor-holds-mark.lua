-- floor-holds-mark: whether this filling of the place still holds a mark at least that high.
--
-- KEYS[1] hash  the floors of one place
-- ARGV[1] life that the mark was proposed in     ARGV[2] mark
--
-- 1 | 0
--
-- A script because mark, life and incarnation must be of one moment.

local place = redis.call('HMGET', KEYS[1], 'incarnation', 'life', 'mark')
if not isServedBy(place[1]) or place[2] ~= ARGV[1] or below(place[3], ARGV[2]) then return 0 end
return 1
