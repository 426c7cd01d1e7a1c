-- Shared by the scripts that look at parked records, which are fields of their range: `parked:<offset>` and a text of words.

local COLON = 58

-- Appends field name and text of every parked record. False when there are not as many as the range counts: somebody removed
-- some. No other field has a colon; to look at one byte makes no new text for each of what may be thousands.
local function addParked(answer, RANGE, count)
  if count == '0' then return true end
  local fields = redis.call('HGETALL', RANGE)
  local found = 0
  local at = #answer
  for i = 1, #fields, 2 do
    if string.byte(fields[i], 7) == COLON then
      found = found + 1
      answer[at + 1] = fields[i]
      answer[at + 2] = fields[i + 1]
      at = at + 2
    end
  end
  return found == tonumber(count)
end
