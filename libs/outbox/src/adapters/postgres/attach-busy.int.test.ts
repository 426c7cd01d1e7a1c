/**
 * Attaching a table that is being written to: while attach waits for its lock every writer waits behind it, so the waits
 * of the writers are watched in the lock table of the server, where the machine's own slowness does not count.
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
/** A busy machine ends a wait late. What is held below is held longer in all than a wait with this. */
const SLACK_MS = 1_500;
/** How long attach is kept from each lock: less than its patience. */
const HELD_MS = 160;

const PLAIN = `create table {schema}.t (id int primary key, n int not null default 0)`;
const PARTS = 12;
const PARTITIONED = `create table {schema}.t (id int primary key, n int not null default 0) partition by hash (id);
  ${Array.from({ length: PARTS }, (_, i) => `create table {schema}.t_${i} partition of {schema}.t for values with (modulus ${PARTS}, remainder ${i});`).join(' ')}`;

it.each([
  ['a table, behind a transaction that stays open for several tries', PLAIN, ['t'], LOCK_TIMEOUT_MS * 8],
  [
    'partitions, each held for a while, one after the other',
    PARTITIONED,
    Array.from({ length: PARTS }, (_, i) => `t_${i}`),
    HELD_MS,
  ],
])('attach of %s makes no writer wait longer than its lock timeout', async (_, definition, held, heldMs) => {
  const outbox = await openTestOutbox({ url: services().postgres, namespace: uniqueNamespace('busy') });
  onTestFinished(() => outbox.drop());
  const { client, schema, namespace } = outbox;
  await client.query(`${definition.replaceAll('{schema}', schema)};
    insert into ${schema}.t select generate_series(1, ${ROWS})`);

  const stop = new AbortController();
  const writers = await Promise.all(Array.from({ length: WRITERS }, () => outbox.connect()));
  const writing = writers.map((session) => writeOn(session, schema, stop.signal));
  const attaching = await outbox.connect();
  const holders = await Promise.all(held.map((table) => holdOn(outbox, table)));
  const watching = watch(outbox, { attaching: await pidOf(attaching), holders, heldMs, signal: stop.signal });

  const startedMs = performance.now();
  await attachTable(attaching, { namespace, table: `${schema}.t`, topic: 't' });
  const tookMs = performance.now() - startedMs;
  const { rows } = await client.query<{ n: number }>(`update ${schema}.t set n = n where id = 1 returning n`);
  stop.abort();
  const written = await Promise.all(writing);
  const { longestMs, waits } = await watching;

  if (GIVEN_ROWS !== undefined)
    process.stdout.write(
      `attach of ${held.length} x ${ROWS} rows took ${Math.round(tookMs)} ms in ${waits.size} waits; the longest wait of a writer for a lock was ${Math.round(longestMs)} ms, of ${sum(written.map(({ count }) => count))} writes the slowest took ${Math.round(Math.max(...written.map(({ slowestMs }) => slowestMs)))} ms\n`,
    );
  expect(longestMs).toBeLessThan(LOCK_TIMEOUT_MS + SLACK_MS);
  // Otherwise it has proved nothing.
  expect(longestMs).toBeGreaterThan(0);
  expect(waits.size).toBeGreaterThan(1);
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

interface Holder {
  readonly table: string;
  readonly session: Client;
}

/** A transaction that has written to the table and goes on. */
async function holdOn(outbox: TestOutbox, table: string): Promise<Holder> {
  const session = await outbox.connect();
  await session.query(`begin; lock table only ${outbox.schema}.${table} in row exclusive mode`);
  return { table, session };
}

interface WaitRow {
  readonly pid: number;
  readonly table: string;
  readonly since: string;
  readonly waited: number;
}

/** Ends each holder when attach has waited for it for so long; remembers attach's waits, and the longest of all others. */
async function watch(
  outbox: TestOutbox,
  given: {
    readonly attaching: number;
    readonly holders: readonly Holder[];
    readonly heldMs: number;
    readonly signal: AbortSignal;
  },
): Promise<{ longestMs: number; waits: ReadonlySet<string> }> {
  const session = await outbox.connect();
  const holding = new Map(given.holders.map((holder) => [holder.table, holder]));
  const waitedMs = new Map<string, number>();
  const waits = new Map<string, { readonly table: string; readonly waited: number }>();
  let longestMs = 0;
  while (!given.signal.aborted) {
    const { rows } = await session.query<WaitRow>(
      `select l.pid, c.relname as "table", l.waitstart::text as since,
         (extract(epoch from clock_timestamp() - l.waitstart) * 1000)::float8 as waited
       from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
       where not l.granted and l.locktype = 'relation' and l.waitstart is not null and n.nspname = $1`,
      [outbox.namespace],
    );
    for (const { pid, table, since, waited } of rows) {
      if (pid !== given.attaching) longestMs = Math.max(longestMs, waited);
      else waits.set(since, { table, waited });
    }
    waitedMs.clear();
    for (const { table, waited } of waits.values()) waitedMs.set(table, (waitedMs.get(table) ?? 0) + waited);
    for (const [table, { session: holder }] of holding) {
      if ((waitedMs.get(table) ?? 0) < given.heldMs) continue;
      holding.delete(table);
      await holder.query('commit');
    }
  }
  return { longestMs, waits: new Set(waits.keys()) };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}
