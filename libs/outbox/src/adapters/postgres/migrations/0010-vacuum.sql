-- When an old snapshot is gone, all that was removed meanwhile is to be freed, and rows keep coming. At the pace of other
-- tables vacuum fell behind where payloads are large (their own table grew on and on, measured); this one is never
-- larger than what was written since its last vacuum, so nothing is gained by going slowly.
alter table {{schema}}.outbox set (
  autovacuum_vacuum_cost_delay = 0,
  toast.autovacuum_vacuum_cost_delay = 0,
  toast.autovacuum_vacuum_scale_factor = 0.02
);
