-- The outbox: what a transaction says to the world, written in that transaction.
--
-- position  Drawn while the writer holds the key's lock, so it orders the rows of a key. CACHE 1 is part of that: a
--           session that keeps numbers in store would hand out an old one under a new lock.
-- txid      Names the transaction, so that a reader can tell by two snapshots what became visible between them.

create table {{schema}}.outbox (
  position    bigint generated always as identity (cache 1) primary key,
  txid        xid8 not null default pg_current_xact_id(),
  id          uuid not null default gen_random_uuid(),
  topic       text not null,
  key         text not null,
  type        text not null,
  payload     jsonb, -- null is a tombstone
  headers     jsonb not null default '{}',
  occurred_at timestamptz not null default clock_timestamp()
) with (
  -- A queue: rows come and go, so waiting for a fifth of the table to be dead would keep it large for ever.
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05
);

create index outbox_txid on {{schema}}.outbox (txid);

-- The relay: who may run it (a courtesy that saves Kafka from two rivals; exactness rests on Kafka's fencing), and the
-- newest snapshot that it has published in full, as a witness against a position topic that was lost.
create table {{schema}}.relays (
  name       text primary key,
  owner      text not null,
  term       bigint not null,
  expires_at timestamptz not null,
  published  pg_snapshot
);

-- One name an outbox: a second relay would publish every row again, and each would remove rows that the other has not read.
create unique index only_relay on {{schema}}.relays ((true));

-- A relay that has gone to sleep says so here, and only then writers notify it: at commit a NOTIFY takes a lock that
-- orders all notifying transactions of the database, which under load would cost more than the sleep saves.
-- Unlogged, because after a crash nobody sleeps. A transaction that has notified cannot be prepared (PREPARE TRANSACTION),
-- so whoever prepares does without: set tidemark.hints = off.
create unlogged table {{schema}}.relay_sleep (
  only_row     boolean primary key default true check (only_row),
  asleep_until timestamptz not null
);

create function {{schema}}.wake_relay() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $function$
begin
  if lower(coalesce(current_setting('tidemark.hints', true), '')) in ('off', 'false', 'no', '0') then
    return null;
  end if;
  if exists (select from {{schema}}.relay_sleep where asleep_until > clock_timestamp()) then
    perform pg_notify({{channel}}, '');
  end if;
  return null;
end
$function$;

create trigger wake_relay after insert on {{schema}}.outbox
  for each statement execute function {{schema}}.wake_relay();

revoke all on function {{schema}}.wake_relay() from public;
