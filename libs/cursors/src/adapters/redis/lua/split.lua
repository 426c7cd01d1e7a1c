-- split: cuts a range above its horizon, also while its owner works: the child starts at `at`, and the range ends there.
--
-- KEYS[1..4], ARGV[1..3]   as in prelude-range.lua; the slot is empty, since a repeat is known by the child that is there
-- KEYS[5] hash             the child
-- ARGV[4]                  range id of the child
-- ARGV[5]                  at
-- ARGV[6]                  how many ranges a job may have
--
-- split | refused-closed | refused-outside | refused-claimed | refused-full | incomplete | not-running
--
-- Atomic, because a claim of the owner must come wholly before or wholly after, and because the two must tile the window in every
-- look at it.

local range, answer = open('refused-closed', STARTING)
if not range then return answer end
local child, at = ARGV[4], ARGV[5]
local start = string.sub(ID, 12)
if below(start, at) and redis.call('ZSCORE', RANGES, child) then return 'split' end
if range.status ~= 'open' then return 'refused-closed' end
if not below(start, at) or not below(at, range.finish) then return 'refused-outside' end
-- The range still covers `at` itself, which may be the horizon; but one whose cursor is at its end could never be closed.
if below(at, range.horizon) or not below(range.cursor, at) then return 'refused-claimed' end
if redis.call('ZCARD', RANGES) >= tonumber(ARGV[6]) then return 'refused-full' end

local now = wholeNumber(range.now)
redis.call('DEL', KEYS[5])
redis.call('HSET', KEYS[5], 'cursor', at, 'horizon', at, 'status', 'open', 'note', '', 'noteSinceMs', '0', 'lost', '[]',
  'owner', '', 'token', '', 'leaseUntilMs', '0', 'notBeforeMs', now, 'version', '1', 'gone', '0')
for _, name in ipairs(COUNTERS) do redis.call('HSET', KEYS[5], name, '0') end
redis.call('ZADD', RANGES, 0, child)
redis.call('ZADD', READY, now, child)
redis.call('HINCRBY', JOB, 'rangeCount', 1)
redis.call('HINCRBY', RANGE, 'version', 1)
return 'split'
