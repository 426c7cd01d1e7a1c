-- parked: the parked records of one range.
--
-- KEYS[1] hash  the job     KEYS[2] hash  the range
--
-- { now (ms), `parked:<offset>`, `<attempts> <due ms> <fault class> <key hash>`, … } in any order | { 'incomplete' }
--
-- A script because the due times mean something only beside the clock that set them, and because records that are missing
-- must not look like settled ones.

local job = redis.call('HGET', KEYS[1], 'incarnation')
local count = redis.call('HGET', KEYS[2], 'parked')
if not count or not isServedBy(job) then return { 'incomplete' } end
local answer = { wholeNumber(nowMs()) }
if addParked(answer, KEYS[2], count) then return answer end
return { 'incomplete' }
