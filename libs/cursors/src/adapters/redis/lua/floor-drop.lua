-- floor-drop: removes the floor of a holder that needs nothing any more.
--
-- KEYS[1] hash  the floors of one place
-- ARGV[1] holder
--
-- dropped | incomplete
--
-- Atomic, because what was filled for another life of the store is not to be touched.

if not isServedBy(redis.call('HGET', KEYS[1], 'incarnation')) then return 'incomplete' end
redis.call('HDEL', KEYS[1], 'floor:' .. ARGV[1])
return 'dropped'
