-- floor-look: everything that is known of a place.
--
-- KEYS[1] hash  the floors of one place
-- ARGV          none
--
-- field, value, field, value, …; empty when the place is incomplete
--
-- A script because the incarnation and the rest must be of one moment.

if not isServedBy(redis.call('HGET', KEYS[1], 'incarnation')) then return {} end
return redis.call('HGETALL', KEYS[1])
