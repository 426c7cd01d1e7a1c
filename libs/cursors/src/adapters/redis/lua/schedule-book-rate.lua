-- schedule-book-rate: books time of a rate that all workers share. Generic cell rate algorithm, in whole microseconds.
--
-- KEYS[1] zset  bucket by the instant at which all that was booked will be worked off, us
-- ARGV[1] bucket     ARGV[2] what is booked, us     ARGV[3] longest wait with which it is booked, us     ARGV[4] credit of an idle bucket, us
--
-- how long to wait, us
--
-- Atomic, because two workers that book at once must get one after the other.
--
-- Microseconds since 1970 are below 2^53 until the year 2255, so a double, and with it a score, holds them exactly.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local idle = now - ARGV[4]
local workedOff = redis.call('ZSCORE', KEYS[1], ARGV[1])
local from = math.max(tonumber(workedOff or '0'), idle)
-- A bucket without a debt younger than the credit is like one that was never used.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', wholeNumber(idle))
local wait = math.max(0, from - now)
if wait <= tonumber(ARGV[3]) then redis.call('ZADD', KEYS[1], wholeNumber(from + ARGV[2]), ARGV[1]) end
return wholeNumber(wait)
