-- drop: takes away a slice of ranges that no longer belong to a job: left over from before an installation, or from a removed job.
--
-- KEYS[1] hash  the job     KEYS[2] zset  range ids     KEYS[3] zset  open ranges by the time they may be leased
-- KEYS[4…] hash the ranges
-- ARGV[1] epoch of the installation; empty when the job itself was removed
-- ARGV[2…] the range ids, in the order of KEYS[4…]
--
-- dropped | stale (there is another installation now, or this one is finished: a late repeat)
--
-- Atomic, because ranges that a younger installation has just written must stay.

local job = redis.call('HMGET', KEYS[1], 'epoch', 'incarnation')
if (job[1] or '') ~= ARGV[1] or (job[2] or '') ~= '' then return 'stale' end
for i = 4, #KEYS do
  local id = ARGV[i - 2]
  redis.call('DEL', KEYS[i])
  redis.call('ZREM', KEYS[2], id)
  redis.call('ZREM', KEYS[3], id)
end
return 'dropped'
