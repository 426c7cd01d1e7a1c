/** Reading when there is much: a backlog of many transactions, many that are open, and many savepoints. */
import process from 'node:process';
import { privatePostgres, services, uniqueNamespace } from '@tidemark/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { startPosition } from '../../position.ts';
import type { SnapshotWindow } from '../../snapshot.ts';
import { openTestOutbox, readAll, type TestOutbox } from '../../testing/index.ts';
import { PATIENT } from '../../testing/patient.ts';
import { openPostgresOutbox } from './index.ts';
import { relayQueries } from './queries.ts';

const TRANSACTIONS = Number(process.env['TIDEMARK_BACKLOG'] ?? 20_000);

async function openOutbox(url = services().postgres): Promise<TestOutbox> {
  const outbox = await openTestOutbox({ url, namespace: uniqueNamespace('backlog') });
  onTestFinished(() => outbox.drop());
  return outbox;
}

function openReader({ url, namespace }: TestOutbox) {
  const opened = openPostgresOutbox({ url, namespace, relay: 'main', owner: 'test', patience: PATIENT });
  onTestFinished(() => opened.close());
  return opened.reader;
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly Plan[];
}

function nodesOf(plan: Plan): readonly Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** On a server of its own: that of all tests has no room for so many beside those of others. */
const OPEN = 100;
const PREPARED = 6;
const SAVEPOINTS = 80;

/** Of the cursor that the text opens, with the settings that stand before it. */
async function planOf({ client }: TestOutbox, open: string): Promise<readonly Plan[]> {
  const query = open.replace(/declare page [a-z ]* for/, 'explain (format json)');
  expect(query).not.toBe(open);
  const answer: unknown = await client.query(query);
  await client.query('rollback');
  const results = answer as readonly {
    readonly rows: readonly { readonly 'QUERY PLAN': readonly [{ Plan: Plan }] }[];
  }[];
  const plan = results.at(-1)?.rows[0]?.['QUERY PLAN'][0].Plan;
  if (plan === undefined) throw new Error('no plan');
  return nodesOf(plan);
}

it('a backlog of transactions is read in the order of its index, and nothing is held between two pages', async () => {
  const outbox = await openOutbox();
  const { client, schema, namespace } = outbox;
  await client.query('set synchronous_commit = off');
  await client.query(`do $$ begin
    for i in 1..${TRANSACTIONS} loop
      insert into ${schema}.outbox (topic, key, type, payload, headers) values ('t', i % 10, 'x', to_jsonb(i), '{}');
      commit;
    end loop; end $$`);
  const queries = relayQueries(namespace);
  const reader = openReader(outbox);
  const { identity } = await reader.state();
  for (const analyzed of [false, true]) {
    if (analyzed) await client.query(`analyze ${schema}.outbox`);
    const taken = await reader.takeSnapshot();
    const window: SnapshotWindow = { after: startPosition(identity).snapshot, upTo: taken.snapshot };
    const plan = await planOf(outbox, queries.openScannedPage(window, { after: 0n, upTo: 500_000n }));
    expect(plan.map((node) => [node['Node Type'], node['Index Name']])).toEqual([['Index Scan', 'outbox_pkey']]);
  }
  const taken = await reader.takeSnapshot();
  const window = { after: startPosition(identity).snapshot, upTo: taken.snapshot };
  let read = 0;
  for (let place = 0n, isLast = false; !isLast; ) {
    const page = await reader.readPage(window, place, { rowsMax: 4_000, bytesMax: 8_000_000 });
    read += page.rows.length;
    ({ place, isLast } = page);
    const { rows } = await client.query(
      `select state, backend_xmin from pg_stat_activity where application_name like $1 and (state <> 'idle' or backend_xmin is not null)`,
      [`${namespace}.relay.main%`],
    );
    expect(rows).toEqual([]);
  }
  expect(read).toBe(TRANSACTIONS);
});

it('a small window of a large table is found by the index on txid, whatever the statistics say', async () => {
  const outbox = await openOutbox();
  const { client, schema, namespace } = outbox;
  await client.query(
    `insert into ${schema}.outbox (topic, key, type, headers) select 't', i, 'x', '{}' from generate_series(1, 20000) i`,
  );
  const reader = openReader(outbox);
  const before = await reader.takeSnapshot();
  await client.query(`select ${schema}.publish('t', 'k', 'x', '1')`);
  const after = await reader.takeSnapshot();
  // Transactions of other tests have no rows here; so many that have ended since may make it look large.
  const window = { after: { ...before.snapshot, running: [] }, upTo: after.snapshot };
  for (const analyzed of [false, true]) {
    if (analyzed) await client.query(`analyze ${schema}.outbox`);
    const plan = await planOf(outbox, relayQueries(namespace).openSortedPage(window, 0n));
    expect(new Set(plan.flatMap((node) => node['Index Name'] ?? []))).toEqual(new Set(['outbox_txid']));
    expect(plan.map((node) => node['Node Type'])).not.toContain('Seq Scan');
  }
});

it('P9: a hundred open transactions, some prepared, some with more savepoints than a snapshot keeps in mind', async () => {
  const server = await privatePostgres();
  onTestFinished(() => server.stop());
  const outbox = await openOutbox(server.address);
  const { schema, namespace } = outbox;
  const reader = openReader(outbox);
  const writers = await Promise.all(Array.from({ length: OPEN }, () => outbox.connect()));
  const gid = (i: number) => `${namespace} ${i}`;
  const publish = (key: string) => `select ${schema}.publish('t', '${key}', 'x', '1', ordered => false)`;
  // Every third one is rolled back. From the 65th on Postgres cannot tell them all.
  const savepoints = (i: number) =>
    Array.from({ length: SAVEPOINTS }, (_, j) => {
      return `savepoint s; ${publish(`${i} ${j}`)}; ${j % 3 === 0 ? 'rollback to savepoint s' : 'release savepoint s'}`;
    }).join('; ');
  const hasSavepoints = (i: number) => i % 10 === 1;
  const keysOf = (i: number) =>
    hasSavepoints(i)
      ? Array.from({ length: SAVEPOINTS }, (_, j) => (j % 3 === 0 ? [] : [`${i} ${j}`])).flat()
      : [`${i}`];
  await Promise.all(
    writers.map((writer, i) => writer.query(`begin; ${hasSavepoints(i) ? savepoints(i) : publish(`${i}`)}`)),
  );
  const { identity } = await reader.state();
  let position = startPosition(identity);
  const delivered: string[] = [];
  const read = async (): Promise<void> => {
    const window = await readAll(reader, position, { rowsMax: 100, bytesMax: 10_000_000 });
    ({ position } = window);
    delivered.push(...window.rows.map(({ key }) => key));
  };
  await read();
  expect(position.snapshot.running.length).toBeGreaterThanOrEqual(OPEN);
  for (let i = 0; i < PREPARED; i += 1) await writers[i]?.query(`prepare transaction '${gid(i)}'`);
  await read();
  expect(delivered).toEqual([]);
  const expected: string[] = [];
  for (let turn = 0; turn < OPEN; turn += 1) {
    const i = (turn * 37) % OPEN; // in another order than they began in
    const verdict = i % 4 === 0 ? 'rollback' : 'commit';
    await writers[i]?.query(i < PREPARED ? `${verdict} prepared '${gid(i)}'` : verdict);
    if (verdict === 'commit') expected.push(...keysOf(i));
    if (turn % 20 !== 19) continue;
    await read();
    expect([...delivered].sort()).toEqual([...expected].sort());
  }
});
