/** Very many keys in one transaction: it takes the lock of the topic, and what it cannot take is told to the writer. */
import { privatePostgres } from '@tidemark/testkit';
import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestOutbox, type TestOutbox } from '../../testing/index.ts';

const SETTINGS = { max_locks_per_transaction: '60', max_connections: '20', max_prepared_transactions: '0' };

let server: Awaited<ReturnType<typeof privatePostgres>>;
let outbox: TestOutbox;

beforeAll(async () => {
  server = await privatePostgres({ settings: SETTINGS });
  outbox = await openTestOutbox({ url: server.address, namespace: 'locks' });
  await outbox.client.query(`create table t (id int primary key deferrable, n int)`);
  await outbox.client.query(`select locks.attach('t', 'rows')`);
});

afterAll(() => server.stop());

async function publishMany(client: Client, topic: string): Promise<void> {
  await client.query(`select locks.publish('${topic}', 'key ' || i, 'x', '{}') from generate_series(1, 2000) i`);
}

async function countOf(topic: string): Promise<number> {
  const { rows } = await outbox.client.query<{ count: number }>(
    `select count(distinct key)::int as count from locks.outbox where topic = '${topic}'`,
  );
  return rows[0]?.count ?? 0;
}

it('P9: 2,000 keys of one transaction are published and captured', async () => {
  await publishMany(outbox.client, 'published');
  await outbox.client.query(`insert into t select i, 0 from generate_series(1, 2000) i`);
  expect([await countOf('published'), await countOf('rows')]).toEqual([2_000, 2_000]);
});

it('P9: two such transactions of one topic meet in a deadlock: one is told, and loses nothing by trying again', async () => {
  const sessions = { first: await outbox.connect(), second: await outbox.connect() };
  const keys = (name: string, from: number) =>
    `select locks.publish('both', '${name} ' || i, 'x', '{}') from generate_series(${from}, 2000) i`;
  // Both hold the topic together with others before either asks for it alone.
  for (const [name, session] of Object.entries(sessions))
    await session.query(`begin; select locks.publish('both', '${name} 1', 'x', '{}')`);
  const outcomes = await Promise.allSettled(
    Object.entries(sessions).map(async ([name, session]) => {
      await session.query(keys(name, 2)).catch((error: unknown) => {
        throw Object.assign(new Error(name), { cause: error });
      });
    }),
  );
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []));
  expect(refused.map(({ cause }) => cause)).toMatchObject([{ code: '40P01', message: 'deadlock detected' }]);
  for (const session of Object.values(sessions)) await session.query('commit');
  expect(await countOf('both')).toBe(2_000);
  await outbox.client.query(keys(refused[0]?.message ?? '', 1));
  expect(await countOf('both')).toBe(4_000);
});

it('P9: when others have taken nearly all locks of the server, the writer is told, and keeps nothing of its transaction', async () => {
  const greedy = await outbox.connect();
  await greedy.query(`do $$ declare taken int := 0; begin
    begin
      loop perform pg_advisory_lock(8, taken); taken := taken + 1; end loop;
    exception when out_of_memory then null;
    end;
    for i in taken - 300 .. taken - 1 loop perform pg_advisory_unlock(8, i); end loop; end $$`);
  const keys = `select locks.publish('full', 'key ' || i, 'x', '{}') from generate_series(1, 900) i`;
  const { client } = outbox;
  await client.query('begin; insert into t values (5000)');
  await expect(client.query(keys)).rejects.toMatchObject({
    code: '53200',
    message: 'out of shared memory',
    hint: expect.stringContaining('max_locks_per_transaction'),
  });
  await client.query('commit');
  await greedy.query('select pg_advisory_unlock_all()');
  const { rows } = await client.query('select from t where id = 5000');
  expect([rows.length, await countOf('full')]).toEqual([0, 0]);
  await client.query(keys);
  expect(await countOf('full')).toBe(900);
});
