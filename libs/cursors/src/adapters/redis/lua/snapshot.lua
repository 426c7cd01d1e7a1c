-- snapshot: all ranges of a job in one look.
--
-- KEYS[1] hash  the job     KEYS[2] zset  range ids     KEYS[3] zset  open ranges by the time they may be leased
-- KEYS[4…] hash the ranges, as the caller found them listed
-- ARGV          their ids, in the same order
--
-- { 'complete', epoch, mode, { range id, end, fields as in FIELDS, as many pairs as `gone` says of name and text of lost intervals,
--   then name and text of each parked record }, … } | { 'incomplete' }
-- { 'changed' } when the list is no longer the one that the caller read
--
-- Atomic, because a checkpoint must be a state that the job really was in. It also finds keys that somebody deleted: a range
-- without its hash, a list of another length, an open range that nobody could ever find in the third key, or fewer parked records
-- or lost intervals than are counted.

local FIELDS = { 'cursor', 'horizon', 'status', 'note', 'noteSinceMs', 'lost', 'owner', 'token', 'leaseUntilMs', 'notBeforeMs',
  'version', 'ok', 'skipped', 'deadLettered', 'filtered', 'markers', 'compacted', 'lostOffsets', 'parked', 'retries', 'chunks',
  'maybeRedelivered', 'gone' }
local STATUS, PARKED, GONE = 3, 19, 23

local job = redis.call('HMGET', KEYS[1], 'incarnation', 'epoch', 'mode', 'rangeCount')
if not job[3] or not isServedBy(job[1]) then return { 'incomplete' } end
local ids = redis.call('ZRANGE', KEYS[2], 0, -1)
if #ids ~= #ARGV then return { 'changed' } end
for i, id in ipairs(ids) do
  if id ~= ARGV[i] then return { 'changed' } end
end
if #ids ~= tonumber(job[4]) then return { 'incomplete' } end

local answer = { 'complete', job[2], job[3] }
local open = 0
for i, id in ipairs(ids) do
  local partition, following = string.sub(id, 1, 10), ids[i + 1]
  local finish
  if following and string.sub(following, 1, 10) == partition then
    finish = string.sub(following, 12)
  else
    finish = redis.call('HGET', KEYS[1], 'end:' .. partition)
  end
  local fields = redis.call('HMGET', KEYS[3 + i], unpack(FIELDS))
  if not finish or not fields[1] or not fields[PARKED] then return { 'incomplete' } end
  if fields[STATUS] == 'open' then open = open + 1 end
  -- A version that kept no places wrote no number of them.
  fields[GONE] = fields[GONE] or '0'
  local entry = { id, finish, unpack(fields) }
  if not addGone(entry, KEYS[3 + i], fields[GONE]) then return { 'incomplete' } end
  if not addParked(entry, KEYS[3 + i], fields[PARKED]) then return { 'incomplete' } end
  answer[3 + i] = entry
end
if redis.call('ZCARD', KEYS[3]) ~= open then return { 'incomplete' } end
return answer
