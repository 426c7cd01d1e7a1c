/**
 * Where the handlers write, and what the judge counts. It is made so that it hides nothing: `deliveries` has no unique key
 * and keeps every repetition, `effects` has one and notes when another value came, and `refusals` keeps every write that
 * came with an older token than the sink had seen. One function is one transaction, whose first step locks the token of
 * the range: `seq` is drawn under that lock, so it is the order in which the writes of a range took effect.
 */
export const SINK_TABLES = `
create table deliveries (
  seq bigint generated always as identity primary key, job_id text not null, partition int not null,
  record_offset bigint not null, range_id text not null, token text not null, digest text not null, pid int not null,
  at timestamptz not null default clock_timestamp());
create index on deliveries (job_id, partition, record_offset);
create index on deliveries (at);
create table effects (
  job_id text, partition int, record_offset bigint, digest text not null, other_digests int not null default 0,
  primary key (job_id, partition, record_offset));
create table tokens (job_id text, range_id text, token text not null, primary key (job_id, range_id));
create table refusals (
  job_id text not null, range_id text not null, token text not null, seen text not null, pid int not null,
  at timestamptz not null default clock_timestamp());

create function deliver(
  job text, range text, new_token text, partitions int[], offsets bigint[], digests text[], by_pid int)
returns text language plpgsql as $$
declare seen text;
begin
  insert into tokens as kept values (job, range, new_token)
    on conflict (job_id, range_id) do update set token = excluded.token where kept.token <= excluded.token;
  if not found then
    select token into seen from tokens where job_id = job and range_id = range;
    insert into refusals (job_id, range_id, token, seen, pid) values (job, range, new_token, seen, by_pid);
    return seen;
  end if;
  insert into deliveries (job_id, partition, record_offset, range_id, token, digest, pid)
    select job, p, o, range, new_token, d, by_pid from unnest(partitions, offsets, digests) as given(p, o, d);
  insert into effects as kept (job_id, partition, record_offset, digest)
    select job, p, o, d from unnest(partitions, offsets, digests) as given(p, o, d)
    on conflict (job_id, partition, record_offset)
    do update set other_digests = kept.other_digests + (kept.digest <> excluded.digest)::int;
  return null;
end $$;

create table produced (
  topic text, partition int, record_offset bigint, key text not null, digest text not null,
  primary key (topic, partition, record_offset));
create table windows (
  job_id text, topic text not null, partition int, first_offset bigint not null, last_offset bigint not null,
  ordered boolean not null, primary key (job_id, partition));
create table dead_letters (job_id text, partition int, record_offset bigint, fault_class text not null);
create table cuts (topic text, partition int, before_offset bigint not null);
`;

export const DELIVER = 'select deliver($1, $2, $3, $4, $5, $6, $7) as seen';
