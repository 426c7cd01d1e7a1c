-- set-mode: whether a job runs, drains or is halted. Every range script looks at it.
--
-- KEYS[1] hash  the job
-- ARGV[1] running, draining or halted
--
-- set | gone (no such job: nothing is created) | halted (it does not drain any more: a late repeat of an order to drain)
--
-- Atomic, because a job that is removed meanwhile must not come back as a hash with one field.

if redis.call('EXISTS', KEYS[1]) == 0 then return 'gone' end
if ARGV[1] == 'draining' and redis.call('HGET', KEYS[1], 'mode') == 'halted' then return 'halted' end
redis.call('HSET', KEYS[1], 'mode', ARGV[1])
return 'set'
