-- schedule-announce: a worker says that it lives and what it can do.
--
-- KEYS[1] hash  workers
-- ARGV[1] worker id     ARGV[2] the announcement as JSON text
--
-- announced
--
-- A script because the time beside the announcement is the store's.

redis.call('HSET', KEYS[1], ARGV[1], wholeNumber(nowMs()) .. ' ' .. ARGV[2])
return 'announced'
