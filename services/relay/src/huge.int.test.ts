/** Transactions of any size: many Kafka transactions of bounded size, and exact when the relay is killed between two of them. */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { scanTopic } from '@tidemark/log';
import { positionTopicOf } from '@tidemark/outbox';
import { publish } from '@tidemark/outbox/postgres';
import { waitFor } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { BATCH_ROWS_MAX } from './limits.ts';
import { jsonOf, openRelayTest, type RelayTest, spawnRelay } from './testing/harness.ts';

const ROWS = Number(process.env['TIDEMARK_HUGE_ROWS'] ?? 32_000);
const KEYS = 100;
const WHILE_ALL_ARE_SENT = { timeoutMs: 120_000 + ROWS, intervalMs: 10 };
/** Of the whole process, at any number of rows. */
const MEGABYTES_MAX = 512;

/** Markers of transactions are counted, too. */
async function offsetsIn(test: RelayTest, name: string): Promise<number> {
  const topic = await test.cluster.catalog.describe(name);
  if (topic === undefined) throw new Error(`no topic ${name}`);
  const offsets = await test.cluster.catalog.offsets(topic);
  return Number(offsets.reduce((sum, { highWatermark }) => sum + highWatermark, 0n));
}

function megabytesOf(pid: number): number {
  const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1]) / 1024;
}

it('P9: a transaction far larger than a batch, open while others come and go, with two kills in its middle', {
  timeout: 600_000 + ROWS,
}, async (context) => {
  const test = await openRelayTest();
  const { namespace, topic, outbox } = test;
  const { schema } = outbox;
  const writer = await outbox.connect();
  // The rows as publish() would write them, without its locks, of which so many are not wanted here.
  const insert = (from: number, to: number) =>
    writer.query(
      `insert into ${schema}.outbox (topic, key, type, payload, headers)
       select $1, 'key-' || i % ${KEYS}, 'counted', jsonb_build_object('n', i / ${KEYS} + 1, 'text', repeat('x', 100)), '{}'
       from generate_series($2::int, $3::int - 1) i`,
      [topic, from, to],
    );
  await writer.query('begin');
  await insert(0, ROWS / 2);
  let relay = spawnRelay(namespace);
  for (let n = 1; n <= 3; n += 1) {
    await publish(outbox.client, { namespace, topic, key: 'other', type: 'x', payload: `{"n":${n}}` });
    await waitFor(`row ${n} of another`, async () => (await offsetsIn(test, topic)) > n, { intervalMs: 50 });
  }
  const before = await offsetsIn(test, positionTopicOf(namespace));
  await insert(ROWS / 2, ROWS);
  await writer.query('commit');
  const peaks: number[] = [];
  for (const share of [0.2, 0.6]) {
    const isAt = async () => (await offsetsIn(test, topic)) > share * ROWS;
    await waitFor(`${share} of the rows`, isAt, WHILE_ALL_ARE_SENT);
    peaks.push(megabytesOf(relay.pid));
    await relay.kill('SIGKILL');
    relay = spawnRelay(namespace);
  }
  await waitFor('all rows', async () => (await offsetsIn(test, topic)) >= ROWS, WHILE_ALL_ARE_SENT);
  const last = new Map<string, number>();
  const faults = await waitFor(
    'all rows',
    async () => {
      last.clear();
      const faults = await countUp(test, last);
      return [...last.values()].reduce((sum, n) => sum + n, 0) >= ROWS + 3 && faults;
    },
    { ...WHILE_ALL_ARE_SENT, intervalMs: 1_000 },
  );
  peaks.push(megabytesOf(relay.pid));
  expect(faults).toEqual([]);
  expect(last).toEqual(
    new Map([...Array.from({ length: KEYS }, (_, i) => [`key-${i}`, ROWS / KEYS] as const), ['other', 3]]),
  );
  // One of the rows was read and committed in parts: each has a record and a marker in the log of positions.
  const transactions = ((await offsetsIn(test, positionTopicOf(namespace))) - before) / 2;
  expect(transactions).toBeGreaterThanOrEqual(ROWS / BATCH_ROWS_MAX);
  await context.annotate(`${ROWS} rows, ${transactions} Kafka transactions, peaks of ${peaks.map(Math.round)} MB`);
  expect(Math.max(...peaks)).toBeLessThan(MEGABYTES_MAX);
});

/** Raises the number of each key by those that follow it in the log, and tells those that do not. */
async function countUp({ cluster, codec, topic }: RelayTest, last: Map<string, number>): Promise<readonly string[]> {
  const faults: string[] = [];
  const described = await cluster.catalog.describe(topic);
  if (described === undefined) throw new Error('the topic is there');
  await scanTopic({
    cluster,
    topic: described,
    async visit(record) {
      const key = record.key?.toString() ?? '';
      const { n } = JSON.parse(await jsonOf(codec, record)) as { n: number };
      const before = last.get(key) ?? 0;
      if (n !== before + 1) faults.push(`${key}: ${n} after ${before}`);
      last.set(key, n);
    },
  });
  return faults;
}
