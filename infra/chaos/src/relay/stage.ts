/**
 * Where the writers meet, and the truth: what the database itself says of the order of a key.
 *
 * `note()` is called after every statement, in its transaction, with the key's lock still held. It gives the outbox rows
 * that the statement wrote the next numbers of one sequence, so that the numbers of a key, ascending, are the order in
 * which its writers held the lock; what is rolled back, or was never flushed when the server crashed, takes its notes
 * with it. The sequence locks nothing, so it hides no lock that is missing.
 *
 * `signed` has the label of every transaction that committed: whoever got no answer to a commit looks there.
 */

import { attachTable } from '@tidemark/outbox/postgres';
import type { StandingRow, TrueRow } from '@tidemark/outbox/testing';
import type { Client } from 'pg';

export interface Topics {
  /** Published by hand; the outbox' own lock orders the writers. */
  readonly events: string;
  /** A captured table that changes. */
  readonly items: string;
  /** Published under row locks of the application. */
  readonly locked: string;
  /** A captured table that gets thousands of rows at once. */
  readonly stock: string;
  /** Published by hand; the one whose limit some rows exceed. */
  readonly docs: string;
  readonly jobs: string;
}

export function topicsOf(namespace: string): Topics {
  const topic = (name: string): string => `${namespace}-${name}`;
  return {
    events: topic('events'),
    items: topic('items'),
    locked: topic('locked'),
    stock: topic('stock'),
    docs: topic('docs'),
    jobs: `${namespace}.jobs`,
  };
}

export async function setStage(client: Client, namespace: string, topics: Topics): Promise<void> {
  await client.query(`
    create table locks (key text primary key);
    create table items (key text primary key, value int not null, touched int not null default 0);
    create table stock (key text primary key, value int not null);

    -- Comes before the capture trigger, which fires by name: the row has moved on when NEW is told.
    create function touch() returns trigger language plpgsql as $$
    begin
      if pg_trigger_depth() < 2 then
        update items set touched = touched + 1 where key = new.key;
      end if;
      return null;
    end $$;
    create trigger "0 touch" after update on items for each row execute function touch();

    create table signed (label text primary key);
    create sequence turns;
    create table truth (
      id uuid primary key, topic text not null, key text not null, position bigint not null, txid xid8 not null,
      n bigint not null, is_last boolean not null, image text
    );
    -- What is noted of a transaction ends at a position that a savepoint takes back with the rows.
    create function note() returns void language plpgsql as $$
    declare
      noted_to bigint := coalesce(nullif(current_setting('chaos.noted_to', true), ''), '0')::bigint;
    begin
      with written as (
        select o.id, o.topic, o.key, o.position,
               row_number() over (partition by o.topic, o.key order by o.position desc) = 1 as is_last
          from ${namespace}.outbox o
         where o.txid = pg_current_xact_id() and o.position > noted_to
         order by o.position
      ), noted as (
        insert into truth
        select id, topic, key, position, pg_current_xact_id(), nextval('turns'), is_last,
               case topic
                 when '${topics.items}' then (select to_jsonb(t)::text from items t where t.key = written.key)
                 when '${topics.stock}' then (select to_jsonb(t)::text from stock t where t.key = written.key)
               end
          from written
        returning position
      )
      select greatest(noted_to, max(position)) into noted_to from noted;
      perform set_config('chaos.noted_to', noted_to::text, true);
    end $$;
  `);
  await attachTable(client, { namespace, table: 'items', topic: topics.items });
  await attachTable(client, { namespace, table: 'stock', topic: topics.stock });
}

/** The topics whose newest event of a key is the row as it stands. */
export function capturedTopics({ items, stock }: Topics): readonly string[] {
  return [items, stock];
}

export async function readTruth(client: Client, topics: Topics): Promise<readonly TrueRow[]> {
  const { rows } = await client.query<{
    id: string;
    topic: string;
    key: string;
    txid: string;
    n: string;
    is_last: boolean;
    image: string | null;
  }>('select id::text, topic, key, txid::text, n::text, is_last, image from truth');
  const captured = capturedTopics(topics);
  return rows.map(({ id, topic, key, txid, n, is_last: isLast, image }) => ({
    ...{ id, topic, key, isLast },
    txid: BigInt(txid),
    n: Number(n),
    image: captured.includes(topic) ? image : undefined,
  }));
}

export async function readStanding(client: Client, topics: Topics): Promise<readonly StandingRow[]> {
  const { rows } = await client.query<StandingRow>(
    `select $1 as topic, key, to_jsonb(t)::text as image from items t
     union all select $2, key, to_jsonb(t)::text from stock t`,
    [topics.items, topics.stock],
  );
  return rows;
}

export async function readSigned(client: Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ label: string }>('select label from signed');
  return new Set(rows.map(({ label }) => label));
}
