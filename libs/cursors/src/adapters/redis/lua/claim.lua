-- claim: raises the horizon, above which nothing may be handed to a handler.
--
-- KEYS, ARGV[1..3]   as in prelude-range.lua
-- ARGV[4]            fencing token
-- ARGV[5]            offset up to which the owner is about to handle
--
-- claimed <horizon> <end> | fenced | incomplete | not-running
--
-- Atomic, because a cut of the range above the horizon must come wholly before or wholly after.

local range, answer = open('fenced', STARTING)
if not range then return answer end
if not holds(range, ARGV[4]) then return 'fenced' end

local upTo = below(range.finish, ARGV[5]) and range.finish or ARGV[5]
if not below(range.horizon, upTo) then return table.concat({ 'claimed', range.horizon, range.finish }, ' ') end
change('horizon', upTo)
return table.concat({ 'claimed', upTo, range.finish }, ' ')
