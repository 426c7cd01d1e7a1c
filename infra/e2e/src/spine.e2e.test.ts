/** The whole way of a row, with every program killed on it: table -> outbox -> relay -> topic -> job -> ranges -> handler -> sink. */
import { awaitState } from '@tidemark/control';
import { isTerminal } from '@tidemark/jobs';
import { attachTable, requestJob } from '@tidemark/outbox/postgres';
import { consoleConsumer, createTopic, uniqueName, waitFor } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { openInstallation } from './installation.ts';

const PARTITIONS = 3;
const CHUNK_RECORDS = 100;
const SLOTS = 2;
/** What a worker loses by a machine that stands still is handed over again, too, and must stay rare beside the kills. */
const LEASE_TTL_MS = 20_000;
/** All programs start, and the first relay's rows pass to the second one, on a loaded machine. */
const FILLING_MS = 120_000;
const WORKERS_KILLED = 2;
const ROWS_BEFORE = 12_000;
const ROWS_BEHIND = 2_000;
const ROWS_PER_TRANSACTION = 40;

it('P1, P4, P9, P10: every committed row is in its topic once, the job covers its window, and kills repeat one chunk each', {
  timeout: 480_000,
}, async () => {
  const { namespace, client, jobLog, program } = await openInstallation('spine');
  const topic = uniqueName('orders');
  await client.query('create table orders (id bigint primary key, amount numeric not null)');
  await client.query('create table sink (partition int, record_offset bigint, row jsonb)');
  await client.query('create table later_sink (partition int, record_offset bigint, row jsonb)');
  await createTopic(topic, { partitions: PARTITIONS });
  await attachTable(client, { namespace, table: 'orders', topic });

  let committed = 0;
  const insertRows = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += ROWS_PER_TRANSACTION) {
      const kept = (done / ROWS_PER_TRANSACTION) % 10 !== 3;
      await client.query('begin');
      await client.query('insert into orders select $1::bigint + n, n * 1.10 from generate_series(1, $2::int) as n', [
        committed,
        ROWS_PER_TRANSACTION,
      ]);
      await client.query(kept ? 'commit' : 'rollback');
      if (kept) committed += ROWS_PER_TRANSACTION;
    }
  };

  const worker = () =>
    program('worker', {
      TIDEMARK_HANDLERS: 'infra/e2e/src/ledger-handlers.ts',
      TIDEMARK_SLOTS: String(SLOTS),
      TIDEMARK_LEASE_TTL_MS: String(LEASE_TTL_MS),
    });

  const firstRelay = program('relay');
  const firstDistributor = program('distributor');
  const firstWorker = worker();
  const secondWorker = worker();
  await insertRows(ROWS_BEFORE);

  await client.query('begin');
  await client.query('insert into orders values (1000000001, 1), (1000000002, 2)');
  const jobId = await requestJob(client, {
    namespace,
    request: {
      topic,
      handler: 'e2e-ledger',
      parameters: { table: 'sink' },
      chunkRecords: CHUNK_RECORDS,
      acceptDuplicates: true,
    },
  });
  await client.query('commit');
  const inWindowAtLeast = committed + 2;

  const delivered = async (): Promise<number> =>
    Number((await client.query<{ n: string }>('select count(*) as n from sink')).rows[0]?.n ?? 0);
  await firstRelay.kill('SIGKILL');
  program('relay');
  const behind = insertRows(ROWS_BEHIND);
  await waitFor('the sink to hold some records', async () => (await delivered()) > 500, { timeoutMs: FILLING_MS });
  await firstWorker.kill('SIGKILL');
  await firstDistributor.kill('SIGKILL');
  program('distributor');
  worker();
  await waitFor('the sink to hold more', async () => (await delivered()) > 3_000, { timeoutMs: FILLING_MS });
  await secondWorker.kill('SIGKILL');
  await behind;

  // By the promise this test is about, a job that is pinned later finds all rows published that were committed before.
  const later = await requestJob(client, {
    namespace,
    request: { topic, handler: 'e2e-ledger', parameters: { table: 'later_sink' }, acceptDuplicates: true },
  });
  const counted = await awaitState(jobLog, {
    jobId: later,
    until: (seen) => isTerminal(seen.state),
    timeoutMs: 120_000,
  });
  expect(counted?.state, counted?.reason).toBe('COMPLETED');

  const state = await awaitState(jobLog, { jobId, until: (seen) => isTerminal(seen.state), timeoutMs: 120_000 });
  expect(state?.state, state?.reason).toBe('COMPLETED');
  const pin = state?.pin;
  const totals = state?.totals;
  if (pin === null || pin === undefined || totals === null || totals === undefined)
    throw new Error('no pin or no totals');

  // How many the judge waits for; whether they are all there are is for the database to say.
  const counts = await client.query<{ partition: number; n: number }>(
    'select partition, count(distinct record_offset)::int as n from later_sink group by 1',
  );
  const countIn = new Map(counts.rows.map(({ partition, n }) => [partition, n]));
  const judged = await Promise.all(
    pin.partitions.map(async ({ partition, start, end }) =>
      (await consoleConsumer({ topic, partition, fromOffset: 0n, maxMessages: countIn.get(partition) ?? 0 })).map(
        ({ offset, key }) => ({
          place: `${partition}/${offset}`,
          key: String(key),
          inWindow: offset > start && offset <= end,
        }),
      ),
    ),
  );
  const published = judged.flat();
  const orders = await client.query<{ id: string }>('select id::text from orders');
  expect(published.map(({ key }) => key).toSorted()).toEqual(orders.rows.map(({ id }) => id).toSorted());

  const expected = new Set(published.filter(({ inWindow }) => inWindow).map(({ place }) => place));
  const { rows } = await client.query<{ place: string; n: string }>(
    "select partition || '/' || record_offset as place, count(*) as n from sink group by 1",
  );
  expect(new Set(rows.map(({ place }) => place))).toEqual(expected);
  expect(expected.size).toBeGreaterThanOrEqual(inWindowAtLeast);
  const repeated = rows.reduce((sum, { n }) => sum + Number(n) - 1, 0);
  expect(repeated).toBeLessThanOrEqual(WORKERS_KILLED * SLOTS * CHUNK_RECORDS);
  expect(totals.ok).toBe(BigInt(expected.size));
  const offsets = pin.partitions.reduce((sum, { start, end }) => sum + (end - start), 0n);
  const { ok, skipped, deadLettered, filtered, markers, compacted, lost } = totals;
  expect(ok + skipped + deadLettered + filtered + markers + compacted + lost).toBe(offsets);
});
