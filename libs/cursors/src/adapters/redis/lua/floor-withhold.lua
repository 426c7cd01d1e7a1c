-- floor-withhold: begins to fill a place that is incomplete, and keeps it incomplete until floor-install of the same life.
--
-- KEYS[1] hash  the floors of one place
-- ARGV[1] life
--
-- withheld | complete
--
-- Atomic, because of two that begin at once only the later one may finish, and what is complete must stay.

if isServedBy(redis.call('HGET', KEYS[1], 'incarnation')) then return 'complete' end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'life', ARGV[1], 'incarnation', '')
return 'withheld'
