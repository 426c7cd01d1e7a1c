-- lease: grants a free range to a slot and draws the next fencing token.
--
-- KEYS, ARGV[1..3]   as in prelude-range.lua
-- ARGV[4]            time to live of the lease, ms
--
-- granted <cursor> <horizon> <end> <token> <parked records> | busy <ready at ms> | closed <status> | incomplete | not-running
--
-- Atomic, because between "nobody holds it" and "I hold it" another slot could get the same range, and because the token
-- must be younger than every one before.

local range, answer = open('closed stopped', STARTING)
if not range then return answer end
if range.status ~= 'open' then return 'closed ' .. range.status end

local readyAtMs = range.owner == '' and range.notBeforeMs or range.leaseUntilMs
if range.now < tonumber(readyAtMs) then return 'busy ' .. readyAtMs end

local token = range.epoch .. ':' .. FIRST_GRANT
if string.sub(range.token, 1, WIDTH) == range.epoch then
  token = range.epoch .. ':' .. incremented(string.sub(range.token, WIDTH + 2))
end

-- Whoever was here before may have handed all of this to a handler.
local uncertain = difference(range.horizon, range.cursor)
if uncertain ~= '0' then redis.call('HINCRBY', RANGE, 'maybeRedelivered', uncertain) end
-- Of an owner that did not give the range back, or is from before a restore, nobody knows which retries it made.
if range.owner ~= '' or range.token == '' then redis.call('HINCRBY', RANGE, 'maybeRedelivered', range.parked) end

local leaseUntilMs = wholeNumber(range.now + ARGV[4])
redis.call('ZADD', READY, leaseUntilMs, ID)
return changeOnce(table.concat({ 'granted', range.cursor, range.horizon, range.finish, token, range.parked }, ' '),
  'owner', SLOT, 'token', token, 'leaseUntilMs', leaseUntilMs, 'notBeforeMs', '0')
