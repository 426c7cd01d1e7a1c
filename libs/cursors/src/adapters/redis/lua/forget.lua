-- forget: removes the job itself, so that from here on every script answers incomplete. Its ranges go afterwards, in slices.
--
-- KEYS[1] hash  the job
-- ARGV[1] epoch of the caller; empty when any will do
--
-- forgotten | younger (it was filled in under a younger epoch than that of the caller)
--
-- Atomic, because whoever was replaced must not take away what its successor fills in meanwhile.

if ARGV[1] ~= '' then
  local epoch = redis.call('HGET', KEYS[1], 'epoch')
  if epoch and below(ARGV[1], epoch) then return 'younger' end
end
redis.call('DEL', KEYS[1])
return 'forgotten'
