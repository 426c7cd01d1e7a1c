-- Shared by the scripts that look at what a range keeps in fields of its own: `parked:<offset>` and a text of words for each parked
-- record, `gone:<first>` and the last offset for each lost interval that was passed.

local COLON = 58
local AFTER_PARKED, AFTER_GONE = 7, 5

-- Appends name and text of every field with a colon at the byte. False when there are not as many as the range counts.
local function addFields(answer, RANGE, byte, count)
  if count == '0' then return true end
  local fields = redis.call('HGETALL', RANGE)
  local found = 0
  local at = #answer
  for i = 1, #fields, 2 do
    if string.byte(fields[i], byte) == COLON then
      found = found + 1
      answer[at + 1] = fields[i]
      answer[at + 2] = fields[i + 1]
      at = at + 2
    end
  end
  return found == tonumber(count)
end

-- Every parked record. Fewer than the range counts: somebody removed some. No other field has a colon at that byte; to look at one
-- makes no new text for each of what may be thousands.
local function addParked(answer, RANGE, count)
  return addFields(answer, RANGE, AFTER_PARKED, count)
end

-- Every lost interval that was passed.
local function addGone(answer, RANGE, count)
  return addFields(answer, RANGE, AFTER_GONE, count)
end
