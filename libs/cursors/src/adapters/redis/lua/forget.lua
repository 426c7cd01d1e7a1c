-- forget: removes the job itself, so that from here on every script answers incomplete. Its ranges go afterwards, in slices.
--
-- KEYS[1] hash  the job
--
-- forgotten
--
-- One command; a script only so that all removals may run when the memory is full.

redis.call('DEL', KEYS[1])
return 'forgotten'
