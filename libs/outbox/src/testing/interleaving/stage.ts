/** Where the writers meet: an outbox, captured tables, and the account that the transactions themselves keep. */
import type { ClientBase } from 'pg';
import { attachTable } from '../../adapters/postgres/index.ts';
import type { TestOutbox } from '../test-outbox.ts';
import { KEYS, LARGE_CHARACTERS, LARGE_ONE_IN } from './limits.ts';
import type { JobRequest, StandingRow, TrueRow } from './verdict.ts';

const NAMES = ['published', 'locked', 'items', 'slots', 'entries'] as const;
type Name = (typeof NAMES)[number];

/** Topics are as lasting as a broker, so they bear the name of the run. */
export function topicOf({ namespace }: Pick<TestOutbox, 'namespace'>, name: Name): string {
  return `${namespace}-${name}`;
}

export function topicsOf(outbox: Pick<TestOutbox, 'namespace'>): readonly string[] {
  return NAMES.map((name) => topicOf(outbox, name));
}

/**
 * `locks` is the application's own lock of a key. Of the captured tables the writers of a key are ordered in `items` by
 * the row's lock, in `slots`, whose key is deferrable, and in `entries`, which only grows, by the outbox's advisory lock.
 *
 * `note()` is called after every statement, in its transaction, with the key's lock still held: it gives all outbox rows
 * that the statement wrote the next number of their key. What commits and what is rolled back, and who comes before
 * whom, is thereby written down by the database itself.
 */
export async function setStage(outbox: TestOutbox): Promise<void> {
  const { schema, namespace, client } = outbox;
  const topic = (name: Name): string => topicOf(outbox, name);
  // Rows of some values are large.
  const fill = `fill text generated always as (case when value % ${LARGE_ONE_IN} = 0 then repeat('x', ${LARGE_CHARACTERS}) end) stored`;
  await client.query(`
    create table ${schema}.locks (key text primary key);
    insert into ${schema}.locks select unnest('{${KEYS.join(',')}}'::text[]);
    create table ${schema}.items (key text primary key, value int not null, touched int not null default 0, ${fill});
    create table ${schema}.slots (key text primary key deferrable initially deferred, value int not null, ${fill});
    create table ${schema}.entries (key text not null, value int not null, ${fill});

    -- Comes before the capture trigger, which fires by name: the row has moved on when NEW is told.
    create function ${schema}.touch() returns trigger language plpgsql as $$
    begin
      if pg_trigger_depth() < 2 then
        update ${schema}.items set touched = touched + 1 where key = new.key;
      end if;
      return null;
    end $$;
    create trigger "0 touch" after update on ${schema}.items for each row execute function ${schema}.touch();

    create table ${schema}.numbers (topic text, key text, n int not null, primary key (topic, key));
    create table ${schema}.truth (
      id uuid primary key, topic text not null, key text not null, txid xid8 not null, n int not null,
      is_last boolean not null, images text[] -- rows of the key after the statement; null where there is no table
    );
    create function ${schema}.note() returns void language plpgsql as $$
    declare
      noted record;
      drawn int;
      found text[];
    begin
      for noted in
        select o.topic, o.key, array_agg(o.id order by o.position) as ids from ${schema}.outbox o
        where o.txid = pg_current_xact_id() and not exists (select from ${schema}.truth t where t.id = o.id)
        group by o.topic, o.key order by o.topic, o.key
      loop
        insert into ${schema}.numbers as held values (noted.topic, noted.key, 1)
          on conflict (topic, key) do update set n = held.n + 1 returning n into drawn;
        found := case noted.topic
          when '${topic('items')}' then array(select to_jsonb(t)::text from ${schema}.items t where t.key = noted.key)
          when '${topic('slots')}' then array(select to_jsonb(t)::text from ${schema}.slots t where t.key = noted.key)
        end;
        insert into ${schema}.truth
          select id, noted.topic, noted.key, pg_current_xact_id(), drawn, place = cardinality(noted.ids), found
          from unnest(noted.ids) with ordinality as given (id, place);
      end loop;
    end $$;

    create table ${schema}.requests (job text primary key, covers uuid[] not null);
    -- One statement, so that what its snapshot sees was committed before the request's row is written.
    create function ${schema}.ask_job() returns void language sql as $$
      insert into ${schema}.requests
        select ${schema}.request_job('{"topic": "${topic('items')}", "handler": "count"}'), seen.ids
        from (select array(select id from ${schema}.truth) as ids offset 0) as seen
    $$`);
  await attachTable(client, { namespace, table: `${schema}.items`, topic: topic('items') });
  await attachTable(client, { namespace, table: `${schema}.slots`, topic: topic('slots') });
  await attachTable(client, {
    namespace,
    table: `${schema}.entries`,
    topic: topic('entries'),
    keyColumns: ['key'],
    appendOnly: true,
  });
}

const STATE_TABLES = ['items', 'slots'] as const;

/** The topics whose newest event of a key is the row as it stands. */
export function stateTopicsOf(outbox: TestOutbox): readonly string[] {
  return STATE_TABLES.map((table) => topicOf(outbox, table));
}

export async function readTruth(client: ClientBase, schema: string): Promise<readonly TrueRow[]> {
  const { rows } = await client.query<{
    id: string;
    topic: string;
    key: string;
    txid: string;
    n: number;
    is_last: boolean;
    images: readonly string[] | null;
  }>(`select id::text, topic, key, txid::text, n, is_last, images from ${schema}.truth`);
  return rows.map(({ id, topic, key, txid, n, is_last: isLast, images }) => ({
    id,
    topic,
    key,
    txid: BigInt(txid),
    n,
    isLast,
    // Two rows of a key stand beside each other only until the transaction has removed one; each may be told meanwhile.
    image: images === null || images.length > 1 ? undefined : (images[0] ?? null),
  }));
}

export async function readStanding(client: ClientBase, outbox: TestOutbox): Promise<readonly StandingRow[]> {
  const { rows } = await client.query<StandingRow>(
    STATE_TABLES.map(
      (table) =>
        `select '${topicOf(outbox, table)}' as topic, key, to_jsonb(t)::text as image from ${outbox.schema}.${table} t`,
    ).join(' union all '),
  );
  return rows;
}

/** Each with the rows that were committed before it, or written before it by its own transaction. */
export async function readRequests(client: ClientBase, schema: string): Promise<readonly JobRequest[]> {
  const { rows } = await client.query<{ id: string; covers: readonly string[] }>(
    `select t.id::text, r.covers::text[] from ${schema}.requests r join ${schema}.truth t on t.key = r.job`,
  );
  return rows;
}
