-- floor-propose: raises the mark to the lowest floor, or to the target if that is lower. Never lowers it.
--
-- KEYS[1] hash  the floors of one place
-- ARGV[1] life that the caller has seen     ARGV[2] target     ARGV[3…] holders that must have a floor
--
-- proposed <mark> | held <floor> (a floor is below the mark) | missing <holder> <holder> … | incomplete
--
-- Atomic, because a floor that is registered between the look at the floors and the new mark would lie below it; and a
-- reservation that ran out is removed in the step that passes it, so that its holder cannot take it for a floor.

local DEADLINE = WIDTH + 2

local place = redis.call('HMGET', KEYS[1], 'incarnation', 'life', 'mark')
if not isServedBy(place[1]) or place[2] ~= ARGV[1] then return 'incomplete' end

local required, missing = {}, {}
for i = 3, #ARGV do
  required[ARGV[i]] = true
  if redis.call('HEXISTS', KEYS[1], 'floor:' .. ARGV[i]) == 0 then missing[#missing + 1] = ARGV[i] end
end
if #missing > 0 then return 'missing ' .. table.concat(missing, ' ') end

local lowest, now = nil, nowMs()
local entries = redis.call('HGETALL', KEYS[1])
for i = 1, #entries, 2 do
  local holder = string.match(entries[i], '^floor:(.+)$')
  if holder then
    local floor = entries[i + 1]
    local deadline = string.sub(floor, DEADLINE)
    if deadline ~= '' and tonumber(deadline) < now and not required[holder] then
      redis.call('HDEL', KEYS[1], entries[i])
    elseif not lowest or below(floor, lowest) then
      lowest = string.sub(floor, 1, WIDTH)
    end
  end
end

if lowest and below(lowest, place[3]) then return 'held ' .. lowest end
local mark = (lowest and below(lowest, ARGV[2])) and lowest or ARGV[2]
if not below(place[3], mark) then return 'proposed ' .. place[3] end
redis.call('HSET', KEYS[1], 'mark', mark)
return 'proposed ' .. mark
