import { services, uniqueNamespace } from '@tidemark/testkit';
import type { Client } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { CLEANUP_ROWS_MAX } from '../../limits.ts';
import { NOTHING_VISIBLE, type Snapshot, type SnapshotWindow } from '../../snapshot.ts';
import { openTestOutbox } from '../../testing/index.ts';
import { PATIENT } from '../../testing/patient.ts';
import { openPostgresOutbox } from './index.ts';
import { relayQueries } from './queries.ts';

async function openTest() {
  const namespace = uniqueNamespace('cleanup');
  const outbox = await openTestOutbox({ url: services().postgres, namespace });
  onTestFinished(() => outbox.drop());
  const { reader, close } = openPostgresOutbox({
    url: outbox.url,
    namespace,
    relay: 'main',
    owner: 'test',
    patience: PATIENT,
  });
  onTestFinished(() => close());
  // By hand, because it is many.
  const write = (rows: number, client: Client = outbox.client) =>
    client.query(
      `insert into ${outbox.schema}.outbox (topic, key, type, payload)
       select 't', 'k' || i % 7, 'x', '1' from generate_series(1, ${rows}) i`,
    );
  const left = async () => {
    const { rows } = await outbox.client.query<{ n: number }>(`select count(*)::int as n from ${outbox.schema}.outbox`);
    return rows[0]?.n;
  };
  /** Until nothing is left of the window; how many rows each call has removed. */
  const cleanUp = async (window: SnapshotWindow, spared: Parameters<typeof reader.cleanup>[1] = []) => {
    const removed: number[] = [];
    let goOnAt: bigint | undefined;
    do {
      const answer = await reader.cleanup(window, spared, goOnAt);
      removed.push(answer.rows);
      ({ goOnAt } = answer);
    } while (goOnAt !== undefined);
    return removed;
  };
  return { outbox, reader, write, left, cleanUp };
}

/**
 * Transactions of other tests on the server have no rows here. Each that has ended since would be looked for, and blocks
 * are counted.
 */
function onlyOf({ running, ...snapshot }: Snapshot, own: readonly bigint[] = []): Snapshot {
  return { ...snapshot, running: running.filter((txid) => own.includes(txid)) };
}

/** Blocks that the statement touched which begins so. */
async function blocksOf(
  client: Client,
  text: string,
  statement: 'with' | 'select count' | 'declare page',
): Promise<number> {
  const explain = 'explain (analyze, buffers, format json)';
  const explained =
    statement === 'declare page'
      ? text.replace('declare page no scroll cursor for', explain).replace(/fetch \d+ from page/, 'select 1')
      : text.replace(new RegExp(`;(\\s*)${statement}`), `;$1${explain} ${statement}`);
  const results: unknown = await client.query(explained);
  const [row] = (results as { rows: { 'QUERY PLAN'?: { Plan: Record<string, number> }[] }[] }[]).flatMap(({ rows }) =>
    rows.filter((each) => 'QUERY PLAN' in each),
  );
  const plan = row?.['QUERY PLAN']?.[0]?.Plan;
  return (plan?.['Shared Hit Blocks'] ?? Number.NaN) + (plan?.['Shared Read Blocks'] ?? Number.NaN);
}

it('G15: while an old snapshot is held, neither clean-up nor the lag looks at what was removed before', async () => {
  const { outbox, reader, write, left, cleanUp } = await openTest();
  const holder = await outbox.connect();
  await holder.query('begin isolation level repeatable read; select pg_current_snapshot()');
  let after = NOTHING_VISIBLE;
  for (let round = 0; round < 3; round += 1) {
    await write(20_000);
    const { snapshot: upTo } = await reader.takeSnapshot();
    await cleanUp({ after, upTo });
    after = upTo;
  }
  expect(await left()).toBe(0);
  await write(10);
  const upTo = onlyOf((await reader.takeSnapshot()).snapshot);
  const queries = relayQueries(outbox.namespace);
  const fromTheBeginning = await blocksOf(
    outbox.client,
    queries.cleanupFirst({ after: NOTHING_VISIBLE, upTo }, []),
    'with',
  );
  expect(fromTheBeginning).toBeGreaterThan(600); // the dead are still there
  await write(10);
  const { snapshot: newest } = await reader.takeSnapshot();
  expect(await blocksOf(outbox.client, queries.cleanupFirst({ after: upTo, upTo: newest }, []), 'with')).toBeLessThan(
    300,
  );
  expect(
    await blocksOf(outbox.client, queries.backlog({ snapshot: upTo, window: undefined }), 'select count'),
  ).toBeLessThan(30);
});

it('a window that is larger than a batch goes on by position, and a transaction that ended late is in its window', async () => {
  const { outbox, reader, write, left, cleanUp } = await openTest();
  const late = await outbox.connect();
  await late.query('begin');
  await write(3, late);
  await write(2 * CLEANUP_ROWS_MAX + 100);
  const { snapshot: first } = await reader.takeSnapshot();
  const spared = { topic: 't', key: 'k1', position: 1n };
  expect(await cleanUp({ after: NOTHING_VISIBLE, upTo: first }, [spared])).toEqual([
    CLEANUP_ROWS_MAX,
    CLEANUP_ROWS_MAX + 100 - 1_443,
  ]);
  await late.query('commit');
  const { snapshot: second } = await reader.takeSnapshot();
  expect(await cleanUp({ after: first, upTo: second }, [spared])).toEqual([2]);
  expect(await left()).toBe(1_443 + 1);
  await reader.removePublished(second, [{ ...spared, below: null }]);
  expect(await left()).toBe(0);

  // Which rows a first batch finds is the server's affair: some may lie below the place where it goes on.
  await write(3);
  const { snapshot: third } = await reader.takeSnapshot();
  const window = { after: second, upTo: third };
  expect(await reader.cleanup(window, [], 1_000_000n)).toEqual({ rows: 3, goOnAt: undefined });
  expect(await left()).toBe(0);
});

it('while a large transaction is open, nothing passes its rows again and again', async () => {
  const { outbox, reader, write } = await openTest();
  const writer = await outbox.connect();
  await writer.query('begin');
  await write(20_000, writer);
  const { rows: own } = await writer.query<{ txid: string }>('select pg_current_xact_id()::text as txid');
  await write(1);
  const after = onlyOf(
    (await reader.takeSnapshot()).snapshot,
    own.map(({ txid }) => BigInt(txid)),
  );
  expect(after.running).toHaveLength(1);
  await write(1);
  const { snapshot: upTo } = await reader.takeSnapshot();
  const queries = relayQueries(outbox.namespace);
  const window = { after, upTo };
  const opening = queries.takeSnapshotAndRows(after, { positionMax: 1_000_000n, rowsMax: 10 });
  expect(await blocksOf(outbox.client, opening, 'declare page')).toBeLessThan(100);
  const page = `${queries.openSortedPage(window, 0n)}; commit`;
  expect(await blocksOf(outbox.client, page, 'declare page')).toBeLessThan(100);
  const lag = queries.backlog({ snapshot: after, window: undefined });
  expect(await blocksOf(outbox.client, lag, 'select count')).toBeLessThan(100);
  expect(await blocksOf(outbox.client, queries.cleanupFirst(window, []), 'with')).toBeLessThan(100);
});

it('G15: vacuum of the outbox and of its large payloads is not slowed down', async () => {
  const { outbox } = await openTest();
  const { rows } = await outbox.client.query<{ options: readonly string[] }>(
    `select reloptions as options from pg_class where oid = '${outbox.schema}.outbox'::regclass
     union all
     select reloptions from pg_class where oid = (select reltoastrelid from pg_class where oid = '${outbox.schema}.outbox'::regclass)`,
  );
  expect(rows).toHaveLength(2);
  for (const { options } of rows)
    expect(options).toEqual(
      expect.arrayContaining(['autovacuum_vacuum_cost_delay=0', 'autovacuum_vacuum_scale_factor=0.02']),
    );
});
