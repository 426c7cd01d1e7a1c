-- Shared by every script: the clock, offsets as text, and which life of the store this is.
--
-- Offsets and tokens are text of 20 characters. A Lua number holds 53 bits, so none of them ever becomes one. Lua's own
-- `<` on text asks the locale of the server (under en_US, -1 sorts above 0), so `below` compares bytes.

local WIDTH = 20
local BEFORE_FIRST = '-0000000000000000001'
local INTEGER_MAX = '09223372036854775807'
local FIRST_GRANT = '00000000000000000001'
local ZERO, NINE = 48, 57

local function nowMs()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Milliseconds are far below 2^53; %s would write them as 1.7e+12.
local function wholeNumber(number)
  return string.format('%.0f', number)
end

local function below(a, b)
  if a == b then return false end
  for i = 1, WIDTH do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return false
end

-- The next larger number of the same width, for text of digits only.
local function incremented(text)
  local at = WIDTH
  while string.byte(text, at) == NINE do at = at - 1 end
  return string.sub(text, 1, at - 1) .. string.char(string.byte(text, at) + 1) .. string.rep('0', WIDTH - at)
end

-- upper - lower for upper >= lower >= -1, as the plain decimal that HINCRBY takes (and never more than it can take).
local function difference(upper, lower)
  if upper == lower then return '0' end
  local digits = {}
  if lower == BEFORE_FIRST then
    digits[1] = incremented(upper)
  else
    local borrow = 0
    for i = WIDTH, 1, -1 do
      local digit = string.byte(upper, i) - string.byte(lower, i) - borrow
      borrow = digit < 0 and 1 or 0
      digits[i] = string.char(ZERO + digit + 10 * borrow)
    end
  end
  local text = table.concat(digits)
  if below(INTEGER_MAX, text) then text = INTEGER_MAX end
  return string.match(text, '^0*(%d+)$')
end

-- True when this node, in this life, is the one that was filled. A restart changes the run id, a detour as a replica of
-- another node changes the replication id; either may have lost or changed data. INFO and both searches cost
-- about 4.5 us (measured); Lua patterns would double it.
local function isServedBy(incarnation)
  if not incarnation or incarnation == '' then return false end
  local info = redis.call('INFO', 'server', 'replication')
  return string.find(info, 'run_id:' .. string.sub(incarnation, 1, 40), 1, true) ~= nil
    and string.find(info, 'master_replid:' .. string.sub(incarnation, 42), 1, true) ~= nil
end
