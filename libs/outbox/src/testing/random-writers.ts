/**
 * Sessions that interleave at random over a few hot keys. A key is a row with a counter; whoever holds its row lock
 * raises the counter and publishes the new number, so the numbers of a key, in the order 1, 2, 3 ..., are the order in
 * which the committed writers held the lock.
 */
import type { Client } from 'pg';
import type { TestOutbox } from './test-outbox.ts';

export interface RandomWriters {
  readonly topic: string;
  readonly writers: number;
  readonly transactionsEach: number;
  readonly keys: number;
  /** Longest pause between two statements. */
  readonly pauseMsMax: number;
  readonly rollbackShare: number;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Creates the counters, runs all writers to their end, and returns how far each key was counted. */
export async function runRandomWriters(
  outbox: TestOutbox,
  options: RandomWriters,
): Promise<ReadonlyMap<string, number>> {
  const { schema, client } = outbox;
  await client.query(`create table ${schema}.counters (key text primary key, n int not null default 0)`);
  await client.query(`insert into ${schema}.counters (key) select 'key-' || i from generate_series(0, $1::int - 1) i`, [
    options.keys,
  ]);
  const sessions = await Promise.all(Array.from({ length: options.writers }, () => outbox.connect()));
  await Promise.all(sessions.map((session) => writeTransactions(session, schema, options)));
  const { rows } = await client.query<{ key: string; n: number }>(`select key, n from ${schema}.counters`);
  return new Map(rows.map((row) => [row.key, row.n]));
}

async function writeTransactions(session: Client, schema: string, options: RandomWriters): Promise<void> {
  for (let i = 0; i < options.transactionsEach; i += 1) await writeTransaction(session, schema, options);
}

async function writeTransaction(session: Client, schema: string, options: RandomWriters): Promise<void> {
  const { random, pauseMsMax, rollbackShare } = options;
  // The pauses are the point: they let locks, transaction ids and positions be drawn in different orders.
  const pause = async () => {
    const ms = Math.floor(random() * (pauseMsMax + 1));
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
  };
  await session.query('begin');
  if (random() < 0.5) await session.query('select pg_current_xact_id()');
  // In the order of keys, so that two writers never wait for each other.
  const keys = Array.from({ length: 1 + Math.floor(random() * 3) }, () => Math.floor(random() * options.keys)).sort(
    (a, b) => a - b,
  );
  for (const key of keys) {
    await pause();
    const savepoint = random() < 0.3;
    if (savepoint) await session.query('savepoint here');
    await publishNext(session, schema, options.topic, `key-${key}`);
    if (savepoint) await session.query(random() < 0.5 ? 'rollback to savepoint here' : 'release savepoint here');
  }
  await pause();
  await session.query(random() < rollbackShare ? 'rollback' : 'commit');
}

/** The row lock orders the writers, so the outbox need not. */
async function publishNext(session: Client, schema: string, topic: string, key: string): Promise<void> {
  await session.query(
    `with locked as (update ${schema}.counters set n = n + 1 where key = $1 returning n)
     select ${schema}.publish($2, $1, 'counted', jsonb_build_object('n', n), ordered => false) from locked`,
    [key, topic],
  );
}
