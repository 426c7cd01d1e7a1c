-- install-put: writes a slice of the ranges of an installation that install-begin opened. Whatever was there is replaced.
--
-- KEYS[1] hash  the job     KEYS[2] zset  range ids     KEYS[3] zset  open ranges by the time they may be leased
-- KEYS[4…] hash the ranges
-- ARGV[1] epoch
-- then for every range 21 values: range id, cursor, horizon, status, note, lost, version, 1 when it has a note, else 0,
--                                 the eleven counters in their order, how many records are parked, how many lost intervals were passed;
-- for each parked record two:     offset, `<attempts> <due ms> <fault class> <key hash>`
-- for each lost interval two:     first and last offset
--
-- filled | installed (finished already: a late repeat) | stale <epoch> | gone (the job was removed meanwhile)
--
-- Atomic, because a slice of an older installation must not land in a younger one.

local PER_RANGE = 21

local job = redis.call('HMGET', KEYS[1], 'epoch', 'incarnation')
if not job[1] then return 'gone' end
if job[1] ~= ARGV[1] then return 'stale ' .. job[1] end
if job[2] ~= '' then return 'installed' end

local now = wholeNumber(nowMs())
local at = 2
for i = 4, #KEYS do
  local id, status = ARGV[at], ARGV[at + 3]
  redis.call('DEL', KEYS[i])
  redis.call('HSET', KEYS[i], 'cursor', ARGV[at + 1], 'horizon', ARGV[at + 2], 'status', status, 'note', ARGV[at + 4],
    'lost', ARGV[at + 5], 'version', ARGV[at + 6], 'noteSinceMs', ARGV[at + 7] == '1' and now or '0',
    'owner', '', 'token', '', 'leaseUntilMs', '0', 'notBeforeMs', '0',
    'ok', ARGV[at + 8], 'skipped', ARGV[at + 9], 'deadLettered', ARGV[at + 10], 'filtered', ARGV[at + 11],
    'markers', ARGV[at + 12], 'compacted', ARGV[at + 13], 'lostOffsets', ARGV[at + 14], 'parked', ARGV[at + 15],
    'retries', ARGV[at + 16], 'chunks', ARGV[at + 17], 'maybeRedelivered', ARGV[at + 18], 'gone', ARGV[at + 20])
  redis.call('ZADD', KEYS[2], 0, id)
  if status == 'open' then redis.call('ZADD', KEYS[3], 0, id) else redis.call('ZREM', KEYS[3], id) end
  local gone = at + PER_RANGE + 2 * ARGV[at + 19]
  local following = gone + 2 * ARGV[at + 20]
  for parked = at + PER_RANGE, gone - 1, 2 do
    redis.call('HSET', KEYS[i], 'parked:' .. ARGV[parked], ARGV[parked + 1])
  end
  for interval = gone, following - 1, 2 do
    redis.call('HSET', KEYS[i], 'gone:' .. ARGV[interval], ARGV[interval + 1])
  end
  at = following
end
return 'filled'
