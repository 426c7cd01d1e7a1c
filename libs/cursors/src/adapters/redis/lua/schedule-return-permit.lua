-- schedule-return-permit: a slot has let go of its range.
--
-- KEYS[1] zset  permits of all jobs     KEYS[2] zset  those of the job
-- ARGV[1] slot     ARGV[2] member in KEYS[1]
--
-- returned
--
-- Atomic, because the two keys name the same permits.

redis.call('ZREM', KEYS[1], ARGV[2])
redis.call('ZREM', KEYS[2], ARGV[1])
return 'returned'
