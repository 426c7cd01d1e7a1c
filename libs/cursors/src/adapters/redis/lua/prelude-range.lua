-- Shared by the scripts that act on one range. Each of them gets
--
-- KEYS[1] hash  the job        KEYS[3] zset  open ranges by the time they may be leased
-- KEYS[2] zset  range ids      KEYS[4] hash  the range
-- ARGV[1] range id             ARGV[2] slot of the caller             ARGV[3] sequence of the call
--
-- and returns one line of text.

local JOB, RANGES, READY, RANGE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ID, SLOT, SEQUENCE = ARGV[1], ARGV[2], ARGV[3]

-- The modes of a job in which a script works: it starts more than is being handled now, brings that to its end, or lets go.
local STARTING = { running = true }
local FINISHING = { running = true, draining = true }
local LETTING_GO = { running = true, draining = true, halted = true }

-- As in limits.ts.
local PASSED_INTERVALS_MAX = 1000

-- In the order in which they come in ARGV.
local COUNTERS = { 'ok', 'skipped', 'deadLettered', 'filtered', 'markers', 'compacted', 'lostOffsets', 'parked', 'retries', 'chunks',
  'maybeRedelivered' }

-- Returns the range, or nil and the answer. The verdicts come in this order: incomplete (another life of the store, or a part
-- of the job is gone), the remembered answer of a repeat, not running, unknown range.
local function open(whenUnknown, modes)
  local partition = string.sub(ID, 1, 10)
  local job = redis.call('HMGET', JOB, 'incarnation', 'mode', 'epoch', 'end:' .. partition)
  if not job[2] or not isServedBy(job[1]) then return nil, 'incomplete' end
  local stored = redis.call('HMGET', RANGE, 'cursor', 'horizon', 'status', 'note', 'noteSinceMs', 'owner', 'token',
    'leaseUntilMs', 'notBeforeMs', 'lastSlot', 'lastSequence', 'lastAnswer', 'parked', 'gone')
  local listed = redis.call('ZRANGEBYLEX', RANGES, '[' .. ID, '[' .. partition .. ':\255', 'LIMIT', 0, 2)
  local isListed = listed[1] == ID
  if isListed ~= (stored[1] ~= false) then return nil, 'incomplete' end
  if isListed and stored[10] == SLOT and stored[11] == SEQUENCE then return nil, stored[12] end
  if not modes[job[2]] then return nil, 'not-running' end
  if not isListed then return nil, whenUnknown end
  local finish = listed[2] and string.sub(listed[2], 12) or job[4]
  if not finish or not stored[13] then return nil, 'incomplete' end
  return {
    epoch = job[3], finish = finish, now = nowMs(),
    cursor = stored[1], horizon = stored[2], status = stored[3], note = stored[4], noteSinceMs = stored[5],
    owner = stored[6], token = stored[7], leaseUntilMs = stored[8], notBeforeMs = stored[9],
    parked = stored[13], gone = tonumber(stored[14] or '0'),
  }
end

-- The token is the last one drawn and the lease was not given back. One that merely ran out still holds.
local function holds(range, token)
  return range.owner ~= '' and range.token == token
end

local function noteSince(range, note)
  if note == range.note then return range.noteSinceMs end
  if note == '' then return '0' end
  return wholeNumber(range.now)
end

-- Writes the changed fields and raises the version.
local function change(...)
  redis.call('HINCRBY', RANGE, 'version', 1)
  redis.call('HSET', RANGE, ...)
end

-- The same, and the answer is kept for a repeat of the call. Only calls that must not act twice are remembered, and only when
-- they acted: a refusal, a renewal or a claim may be asked for again, and must not wipe out the answer that somebody waits for.
local function changeOnce(answer, ...)
  change('lastSlot', SLOT, 'lastSequence', SEQUENCE, 'lastAnswer', answer, ...)
  return answer
end

-- Adds the amounts in ARGV from `first` on to the counters.
local function addCounters(first)
  for i, name in ipairs(COUNTERS) do
    local amount = ARGV[first + i - 1]
    if amount ~= '0' then redis.call('HINCRBY', RANGE, name, amount) end
  end
end

-- The intervals in ARGV from `first` on: how many, then first and last offset of each. Where what follows them begins.
local function behindLost(first)
  return first + 1 + 2 * ARGV[first]
end

-- Keeps which offsets were lost, an interval a field of the range: `gone:<first>` = last. What does not fit is counted only. The
-- name must have no colon at its seventh byte, by which parked records are told (also by scripts of older versions).
local function passLost(range, first)
  local behind = behindLost(first)
  local kept = range.gone
  for i = first + 1, behind - 1, 2 do
    if kept >= PASSED_INTERVALS_MAX then break end
    redis.call('HSET', RANGE, 'gone:' .. ARGV[i], ARGV[i + 1])
    kept = kept + 1
  end
  if kept > range.gone then redis.call('HSET', RANGE, 'gone', wholeNumber(kept)) end
  return behind
end

-- Parks the records in ARGV from `first` on, four values each: offset, attempts made, ms until the next one, and
-- `<fault class> <key hash>`. Each is a field of the range, so no key of its own can get lost beside it.
local function park(range, first)
  for i = first, #ARGV, 4 do
    local due = wholeNumber(range.now + ARGV[i + 2])
    redis.call('HSET', RANGE, 'parked:' .. ARGV[i], ARGV[i + 1] .. ' ' .. due .. ' ' .. ARGV[i + 3])
  end
end
