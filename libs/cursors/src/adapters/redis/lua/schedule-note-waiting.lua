-- schedule-note-waiting: a job waits for something although none of its ranges is held.
--
-- KEYS[1] hash  what jobs wait for
-- ARGV[1] job id     ARGV[2] what for
--
-- noted
--
-- A script because the time beside the reason is the store's.

redis.call('HSET', KEYS[1], ARGV[1], wholeNumber(nowMs()) .. ' ' .. ARGV[2])
return 'noted'
