import { toOffset } from '@tidemark/keyspace';
import { createMemoryCluster, type MemoryCluster } from '@tidemark/log/testing';
import { describe, expect, it } from 'vitest';
import { REBASE_CLOCKS_MS } from './limits.ts';
import { scanForRows } from './rebase-scan.ts';

const SOURCE = '/tidemark/test/outbox';
const TOPIC = 'orders';
const { signal } = new AbortController();

interface Event {
  readonly id: string;
  readonly atMs: number;
  readonly key?: string;
  readonly source?: string;
}

/** One partition; the records lie at offsets 0, 1, 2 … */
async function holding(events: readonly Event[]): Promise<MemoryCluster> {
  const cluster = createMemoryCluster();
  cluster.createTopic(TOPIC);
  const writer = await cluster.openWriter();
  const records = events.map(({ id, atMs, key = id, source = SOURCE }) => ({
    topic: TOPIC,
    partition: 0,
    key: Buffer.from(key),
    value: Buffer.from('{}'),
    timestampMs: BigInt(atMs),
    headers: [
      ['ce_id', Buffer.from(id)],
      ['ce_source', Buffer.from(source)],
    ] as const,
  }));
  if (records.length > 0) await writer.append(records);
  return cluster;
}

async function cutBefore(cluster: MemoryCluster, offset: number): Promise<void> {
  const { topicId = '' } = (await cluster.catalog.describe(TOPIC)) ?? {};
  await cluster.catalog.deleteRecordsBefore({ topic: TOPIC, topicId, partition: 0 }, toOffset(offset));
}

function scan(
  cluster: MemoryCluster,
  { fromMs = 100, ids = ['x'], extraSinceMs }: { fromMs?: number; ids?: readonly string[]; extraSinceMs?: number },
) {
  return scanForRows({
    cluster,
    source: SOURCE,
    ids: new Set(ids),
    fromMs: new Map([[TOPIC, BigInt(fromMs)]]),
    extraSinceMs: extraSinceMs === undefined ? undefined : BigInt(extraSinceMs),
    signal,
  });
}

const OLD: Event = { id: 'old', atMs: 1 };
/** Until when records may be missing; undefined when none is. */
const takenUpTo = async (cluster: MemoryCluster): Promise<bigint | undefined> =>
  (await scan(cluster, {})).takenUpToMs.get(TOPIC);
const CLOCKS = BigInt(REBASE_CLOCKS_MS);
const AT_ANY_TIME = 2n ** 63n - 1n;

describe('a topic tells what is missing from it', () => {
  it('when everything from the oldest row on is there, whatever was taken before', async () => {
    const cluster = await holding([OLD, { id: 'older', atMs: 50, key: 'old' }, OLD, { id: 'x', atMs: 100 }]);
    expect(await takenUpTo(cluster)).toBeUndefined();
    cluster.compact(TOPIC, 0, ({ offset }) => offset >= 2n);
    expect(await takenUpTo(cluster)).toBeUndefined();
    await cutBefore(cluster, 2);
    expect(await takenUpTo(cluster)).toBeUndefined();
  });

  it('when it was never written to, or is not there', async () => {
    expect(await takenUpTo(await holding([]))).toBeUndefined();
    expect(await takenUpTo(createMemoryCluster())).toBeUndefined();
  });

  it.each<[string, readonly Event[], (cluster: MemoryCluster) => Promise<void> | void, bigint]>([
    [
      'compaction took records since',
      [OLD, { id: 'a', atMs: 100 }, { id: 'b', atMs: 101 }, { id: 'c', atMs: 102 }, { id: 'd', atMs: 109 }],
      (cluster) => cluster.compact(TOPIC, 0, ({ offset }) => offset !== 2n),
      102n + CLOCKS,
    ],
    [
      'compaction took the first of them, and others are of another producer, whose clock says nothing',
      [OLD, { id: 'a', atMs: 100 }, { id: 'b', atMs: 101, source: '/elsewhere' }, { id: 'c', atMs: 105 }],
      (cluster) => cluster.compact(TOPIC, 0, ({ offset }) => offset !== 1n),
      105n + CLOCKS,
    ],
    [
      'it was cut',
      [OLD, { id: 'a', atMs: 100 }, { id: 'b', atMs: 101 }],
      (cluster) => cutBefore(cluster, 2),
      101n + CLOCKS,
    ],
    ['it was emptied', [OLD, { id: 'a', atMs: 100 }], (cluster) => cutBefore(cluster, 2), AT_ANY_TIME],
    [
      'nothing of a relay is behind what was taken',
      [OLD, { id: 'a', atMs: 100 }, { id: 'b', atMs: 101, source: '/elsewhere' }],
      (cluster) => cluster.compact(TOPIC, 0, ({ offset }) => offset !== 1n),
      AT_ANY_TIME,
    ],
  ])('and up to when, as %s', async (_, events, take, until) => {
    const cluster = await holding(events);
    expect(await takenUpTo(cluster)).toBeUndefined();
    await take(cluster);
    expect(await takenUpTo(cluster)).toBe(until);
  });
});

it('finds the rows, and from a time on the events that have none', async () => {
  const cluster = await holding([
    { id: 'x', atMs: 100 },
    { id: 'cleaned up', atMs: 110 },
    { id: 'y', atMs: 120 },
    { id: 'lost', atMs: 121, key: 'k' },
    { id: 'of another producer', atMs: 122, source: '/elsewhere' },
  ]);
  const found = await scan(cluster, { ids: ['x', 'y', 'z'], extraSinceMs: 110 });
  expect(found.found).toEqual(new Set(['x', 'y']));
  expect(found.extra).toMatchObject({
    sinceMs: 110n,
    count: 1,
    listed: [{ topic: TOPIC, partition: 0, offset: 3n, key: 'k', id: 'lost' }],
  });
  expect((await scan(cluster, { ids: ['x'] })).extra).toBeUndefined();
});
