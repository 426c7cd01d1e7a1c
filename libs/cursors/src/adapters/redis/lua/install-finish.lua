-- install-finish: writes the incarnation, last of all, which lets every other script answer.
--
-- KEYS[1] hash  the job     KEYS[2] zset  range ids     KEYS[3] zset  open ranges by the time they may be leased
-- ARGV[1] epoch             ARGV[2] incarnation that the caller meant to fill        ARGV[3] number of open ranges
--
-- installed | stale <epoch> | gone (removed, or a slice is missing) | elsewhere
--
-- Atomic, because the store may have become another one, or the job another one, just before.

local job = redis.call('HMGET', KEYS[1], 'epoch', 'incarnation', 'rangeCount')
if not job[1] then return 'gone' end
if job[1] ~= ARGV[1] then return 'stale ' .. job[1] end
if not isServedBy(ARGV[2]) then return 'elsewhere' end
if job[2] == ARGV[2] then return 'installed' end
if redis.call('ZCARD', KEYS[2]) ~= tonumber(job[3]) or redis.call('ZCARD', KEYS[3]) ~= tonumber(ARGV[3]) then return 'gone' end
redis.call('HSET', KEYS[1], 'incarnation', ARGV[2])
return 'installed'
