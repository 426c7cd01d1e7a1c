-- schedule-permit: lets a slot work on one range of a job, unless as many as may do so already.
--
-- KEYS[1] zset  permits of all jobs, `<job id> <slot>` by the time (ms) at which they end     KEYS[2] zset  those of the job, by slot
-- KEYS[3] hash  what jobs wait for
-- ARGV[1] job id     ARGV[2] slot     ARGV[3] member in KEYS[1]     ARGV[4] most for the job, 0 = any     ARGV[5] most over all, 0 = any
-- ARGV[6] time to live, ms
--
-- granted | full-job | full-all
--
-- Atomic, because two slots that ask at once for the last permit must not both get it, and because a permit that has just ended
-- must be gone before the others are counted.

local now = nowMs()
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', wholeNumber(now))
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', wholeNumber(now))

local function isFull(count, limit)
  return limit > 0 and count >= limit
end
if not redis.call('ZSCORE', KEYS[2], ARGV[2]) then
  local scope
  if isFull(redis.call('ZCARD', KEYS[2]), tonumber(ARGV[4])) then
    scope = 'full-job'
  elseif isFull(redis.call('ZCARD', KEYS[1]), tonumber(ARGV[5])) then
    scope = 'full-all'
  end
  if scope then
    redis.call('HSET', KEYS[3], ARGV[1], wholeNumber(now) .. ' permit')
    return scope
  end
end

local untilMs = wholeNumber(now + ARGV[6])
redis.call('ZADD', KEYS[1], untilMs, ARGV[3])
redis.call('ZADD', KEYS[2], untilMs, ARGV[2])
redis.call('HDEL', KEYS[3], ARGV[1])
return 'granted'
