/**
 * Attaching a table that is being written to: while attach waits for its lock every writer waits behind it, so the waits
 * of the writers are watched in the lock table of the server, by the server: the slowness of this process does not count.
 * TIDEMARK_ATTACH_ROWS=1000000 takes a large table and tells what it measured.
 */
import process from 'node:process';
import { services, uniqueNamespace } from '@tidemark/testkit';
import type { Client } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { openTestOutbox, type TestOutbox } from '../../testing/index.ts';
import { attachTable } from './index.ts';

const GIVEN_ROWS = process.env['TIDEMARK_ATTACH_ROWS'];
const ROWS = Number(GIVEN_ROWS ?? 5_000);
const WRITERS = 4;
const LOCK_TIMEOUT_MS = 250;
/** A busy machine ends a wait late; one that stands still some of them very late, but not most. */
const SLACK_MS = 1_500;
/** How long attach is kept from each partition: less than its patience, which is not enough for two of them. */
const HELD_MS = 130;
/** It is kept from a whole table until it has given up all of these but the last. */
const TRIES = 4;

const PLAIN = `create table {schema}.t (id int primary key, n int not null default 0)`;
const PARTS = 6;
const PARTITIONED = `create table {schema}.t (id int primary key, n int not null default 0) partition by hash (id);
  ${Array.from({ length: PARTS }, (_, i) => `create table {schema}.t_${i} partition of {schema}.t for values with (modulus ${PARTS}, remainder ${i});`).join(' ')}`;

it.each([
  ['a table, behind a transaction that stays open for several tries', PLAIN, ['t'], { tries: TRIES }],
  [
    'partitions, each held for a while, one after the other',
    PARTITIONED,
    Array.from({ length: PARTS }, (_, i) => `t_${i}`),
    { heldMs: HELD_MS },
  ],
])('attach of %s makes no writer wait longer than its lock timeout', async (_, definition, held, until) => {
  const outbox = await openTestOutbox({ url: services().postgres, namespace: uniqueNamespace('busy') });
  onTestFinished(() => outbox.drop());
  const { client, schema, namespace } = outbox;
  await client.query(`${definition.replaceAll('{schema}', schema)};
    insert into ${schema}.t select generate_series(1, ${ROWS})`);

  const stop = new AbortController();
  const writers = await Promise.all(Array.from({ length: WRITERS }, () => outbox.connect()));
  const writing = writers.map((session) => writeOn(session, schema, stop.signal));
  const attaching = await outbox.connect();
  for (const table of held) await holdOn(outbox, table);
  const watching = await watch(outbox, await pidOf(attaching), until);

  const startedMs = performance.now();
  await attachTable(attaching, { namespace, table: `${schema}.t`, topic: 't' });
  const tookMs = performance.now() - startedMs;
  const { rows } = await client.query<{ n: number }>(`update ${schema}.t set n = n where id = 1 returning n`);
  stop.abort();
  const written = await Promise.all(writing);
  const { waits, tries } = await watching.end();

  if (GIVEN_ROWS !== undefined)
    process.stdout.write(
      `attach of ${held.length} x ${ROWS} rows took ${Math.round(tookMs)} ms in ${tries.length} tries; the longest wait of a writer for a lock was ${Math.round(waits.at(-1) ?? 0)} ms, of ${sum(written.map(({ count }) => count))} writes the slowest took ${Math.round(Math.max(...written.map(({ slowestMs }) => slowestMs)))} ms\n`,
    );
  // Otherwise it has proved nothing.
  expect(waits.length).toBeGreaterThan(0);
  expect(tries.length).toBeGreaterThan(1);
  expect(waits[Math.floor(waits.length / 2)]).toBeLessThan(LOCK_TIMEOUT_MS + SLACK_MS);
  // All that one try waits for, its writers wait for. One that ends late may get another partition or two.
  if (held.length > 1) expect(Math.max(...tries)).toBeLessThanOrEqual(PARTS / 2);
  const { rowCount } = await client.query(`select from ${schema}.outbox where key = '1' and payload ->> 'n' = $1`, [
    String(rows[0]?.n),
  ]);
  expect(rowCount).toBeGreaterThan(0);
});

async function pidOf(session: Client): Promise<number> {
  const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}

async function writeOn(
  session: Client,
  schema: string,
  signal: AbortSignal,
): Promise<{ count: number; slowestMs: number }> {
  let slowestMs = 0;
  let count = 0;
  for (; !signal.aborted; count += 1) {
    const startedMs = performance.now();
    await session.query(`update ${schema}.t set n = n + 1 where id = $1`, [1 + Math.floor(Math.random() * ROWS)]);
    slowestMs = Math.max(slowestMs, performance.now() - startedMs);
  }
  return { count, slowestMs };
}

/** A transaction that has written to the table and goes on. */
async function holdOn(outbox: TestOutbox, table: string): Promise<void> {
  const session = await outbox.connect();
  await session.query(`begin; lock table only ${outbox.schema}.${table} in row exclusive mode`);
  await outbox.client.query(
    `create table if not exists ${outbox.schema}.holders (name text, pid int); insert into ${outbox.schema}.holders values ('${table}', ${await pidOf(session)})`,
  );
}

interface Watched {
  /** Of the writers for a lock, in milliseconds, the longest last. */
  readonly waits: readonly number[];
  /** For each try of attach that had to wait, how many holders were ended in it. */
  readonly tries: readonly number[];
}

/** Ends each holder when attach has waited for its table for so long at once, or in so many tries. Resolves when it runs. */
async function watch(
  { client, schema, namespace, connect }: TestOutbox,
  attaching: number,
  { heldMs = Infinity, tries = Infinity }: { readonly heldMs?: number; readonly tries?: number },
): Promise<{ end(): Promise<Watched> }> {
  await client.query(`
    create table ${schema}.waits (pid int, attempt text, name text, since timestamptz, ms float8, primary key (pid, since));
    create table ${schema}.ended (name text, attempt text);
    create function ${schema}.watch() returns void language plpgsql as $$
    declare
      holder record;
    begin
      -- The test holds this lock for as long as there is something to watch.
      while not pg_try_advisory_xact_lock(hashtext('${namespace}')) loop
        insert into ${schema}.waits
          select l.pid, l.virtualtransaction, c.relname, l.waitstart, extract(epoch from clock_timestamp() - l.waitstart) * 1000
          from pg_locks l join pg_class c on c.oid = l.relation
          where not l.granted and l.locktype = 'relation' and l.waitstart is not null and c.relnamespace = '${schema}'::regnamespace
          on conflict (pid, since) do update set ms = excluded.ms;
        for holder in
          select h.pid, h.name, (array_agg(w.attempt order by w.since desc))[1] as attempt
          from ${schema}.holders h join ${schema}.waits w on w.name = h.name and w.pid = ${attaching}
          where h.name not in (select name from ${schema}.ended)
          group by h.pid, h.name having max(w.ms) >= '${heldMs}' or count(distinct w.attempt) >= '${tries}'::float8
        loop
          perform pg_terminate_backend(holder.pid);
          insert into ${schema}.ended values (holder.name, holder.attempt);
        end loop;
        perform pg_sleep(0.005);
      end loop;
    end $$;
    select pg_advisory_lock(hashtext('${namespace}'))`);
  const watching = (await connect()).query(`select ${schema}.watch()`);
  return {
    async end() {
      await client.query(`select pg_advisory_unlock(hashtext('${namespace}'))`);
      await watching;
      const { rows: waits } = await client.query<{ ms: number }>(
        `select ms from ${schema}.waits where pid <> ${attaching} order by ms`,
      );
      const { rows: attempts } = await client.query<{ ended: number }>(
        `select (select count(*)::int from ${schema}.ended e where e.attempt = w.attempt) as ended
         from ${schema}.waits w where pid = ${attaching} group by w.attempt`,
      );
      return { waits: waits.map(({ ms }) => ms), tries: attempts.map(({ ended }) => ended) };
    },
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}
