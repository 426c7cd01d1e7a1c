import { createMemoryFloorStore } from '@tidemark/cursors/testing';
import { toOffset } from '@tidemark/keyspace';
import { createMemoryCluster, type MemoryCluster } from '@tidemark/log/testing';
import { expect, it } from 'vitest';
import { planWindow } from './plan-window.ts';
import { type FloorSight, previewWindow } from './preview-window.ts';

const T0 = 1_700_000_000_000;
const HOUR = 3_600_000;
const NO_STORE: FloorSight = { kind: 'unknown', reason: 'Redis is down' };

/** One record a second after the other, or at the given seconds, in partition 0 of topic `t`. */
async function write(cluster: MemoryCluster, seconds: readonly number[], bytes = 10): Promise<void> {
  const writer = await cluster.openWriter();
  const record = (second: number) => ({
    topic: 't',
    partition: 0,
    key: null,
    value: Buffer.alloc(bytes),
    timestampMs: BigInt(T0 + second * 1_000),
  });
  await writer.append(seconds.map(record));
  await writer.close();
}

interface Asked {
  readonly from?: number | string;
  readonly to?: number | string;
  readonly count?: boolean;
  readonly sight?: FloorSight;
}

async function preview(
  cluster: MemoryCluster,
  { from = 'earliest', to = 'now', count = false, sight = NO_STORE }: Asked = {},
) {
  const floors = sight.kind === 'known' ? sight.floors : undefined;
  const parts = { catalog: cluster.catalog, states: async () => new Map(), floors };
  const plan = await planWindow(parts, { topic: 't', from: String(from), to: String(to) });
  if (plan.kind !== 'planned') throw new Error(plan.kind);
  return previewWindow(cluster, plan, { floors: sight, count, nowMs: T0 });
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function logOf(): MemoryCluster {
  const cluster = createMemoryCluster();
  cluster.createTopic('t', { partitionCount: 2 });
  return cluster;
}

it('C1: says before the start how many records a window by time has, also where it has none', async () => {
  const cluster = logOf();
  await write(cluster, upTo(10));
  const windows = [
    [T0 + HOUR, T0 + 2 * HOUR],
    [T0 - 2 * HOUR, T0 - HOUR],
    [T0 - HOUR, T0 + 4_500],
  ] as const;
  for (const [index, [from, to]] of windows.entries()) {
    const { sum, partitions } = await preview(cluster, { from, to });
    expect(sum.matched).toEqual({ value: [0n, 0n, 5n][index], isExact: true });
    expect(partitions.map(({ start }) => start >= -1n)).toEqual([true, true]);
  }
});

it('a small window is counted: records, their bytes, and the time of the first', async () => {
  const cluster = logOf();
  await write(cluster, [7, 3, 9, 1]);
  const inOrderOrNot = await preview(cluster, { from: T0 + 3_000, to: T0 + 9_000 });
  expect(inOrderOrNot.sum).toMatchObject({
    offsets: 4n,
    matched: { value: 2n, isExact: true },
    bytes: { value: 40n, isExact: true },
    oldestMs: BigInt(T0 + 7_000),
  });
});

it('a large window in order of time is estimated well at both sides of its end, and exactly when asked to count', async () => {
  const cluster = logOf();
  await write(cluster, upTo(8_000));
  const asked = { from: T0 + 1_000_000, to: T0 + 3_000_000 };
  expect((await preview(cluster, asked)).sum).toMatchObject({
    offsets: 7_000n,
    matched: { value: 2_000n, isExact: false },
    bytes: { value: 70_000n, isExact: false },
  });
  expect((await preview(cluster, { ...asked, count: true })).sum.matched).toEqual({ value: 2_000n, isExact: true });
});

it('a large window in no order of time is estimated from its places, and counted exactly', async () => {
  const cluster = logOf();
  await write(
    cluster,
    upTo(8_000).map((index) => (index * 7_919) % 8_000),
  );
  const asked = { from: T0 + 2_000_000, to: T0 + 6_000_000 };
  const counted = await preview(cluster, { ...asked, count: true });
  expect(counted.sum.matched).toEqual({ value: 4_000n, isExact: true });
  const { matched } = (await preview(cluster, asked)).sum;
  expect(matched?.isExact).toBe(false);
  expect(Number(matched?.value)).toBeGreaterThan(3_600);
  expect(Number(matched?.value)).toBeLessThan(4_400);
});

it('aborted records are scanned and match nothing; behind an open transaction nothing is known', async () => {
  const cluster = logOf();
  await write(cluster, upTo(2));
  const aborted = cluster.begin();
  aborted.append([{ topic: 't', partition: 0, key: null, value: Buffer.alloc(10) }]);
  aborted.abort();
  expect((await preview(cluster)).sum).toMatchObject({ offsets: 4n, matched: { value: 2n, isExact: true } });
  cluster.begin().append([{ topic: 't', partition: 0, key: null, value: Buffer.alloc(10) }]);
  const open = await preview(cluster, { count: true });
  expect(open.partitions[0]).toMatchObject({ cutShort: expect.stringMatching(/beyond 3: .*open transaction/) });
  expect(open.sum.matched?.isExact ?? false).toBe(false);
});

it('says what a job would hold that nobody holds now, and leaves the store as it is', async () => {
  const cluster = logOf();
  await write(cluster, upTo(100));
  const floors = createMemoryFloorStore({ now: () => T0 });
  const places = await placesOf(cluster);
  for (const place of places) {
    await floors.withhold({ place, life: 'one' });
    const held = place.partition === 0 ? [{ holder: 'slow', offset: toOffset(60) }] : [];
    const incarnation = await floors.incarnation();
    await floors.install({
      place,
      life: 'one',
      incarnation,
      mark: toOffset(place.partition === 0 ? 20 : 0),
      floors: held,
    });
  }
  const before = await Promise.all(places.map((place) => floors.look(place)));
  const { partitions, sum, floorsUnknown } = await preview(cluster, { sight: { kind: 'known', floors } });
  expect(partitions).toMatchObject([
    {
      start: 19n,
      end: 99n,
      floor: {
        offset: 20n,
        heldOffsets: 80n,
        moreOffsets: 40n,
        moreBytes: 400n,
        mark: 20n,
        aboveMark: 0n,
        lowestNow: { holder: 'slow', offset: 60n },
      },
    },
    { floor: null, offsets: 0n },
  ]);
  expect(sum).toMatchObject({ heldOffsets: 80n, moreOffsets: 40n, oldestMs: BigInt(T0 + 20_000) });
  expect(floorsUnknown).toBe('');
  expect(await Promise.all(places.map((place) => floors.look(place)))).toEqual(before);
  const from = await preview(cluster, { from: '0:5', to: '0:9', sight: { kind: 'known', floors } });
  expect(from.partitions).toMatchObject([{ offsets: 0n, clamped: expect.stringContaining('the log starts at 20') }]);
});

it('without the store, or while it is not filled, it is not known who holds what', async () => {
  const cluster = logOf();
  await write(cluster, upTo(3));
  expect(await preview(cluster)).toMatchObject({
    floorsUnknown: 'Redis is down',
    sum: { heldOffsets: 3n, moreOffsets: null },
  });
  const empty = await preview(cluster, { sight: { kind: 'known', floors: createMemoryFloorStore({ now: () => T0 }) } });
  expect(empty.floorsUnknown).toMatch(/does not hold them yet/);
});

async function placesOf(cluster: MemoryCluster) {
  const topic = await cluster.catalog.describe('t');
  if (topic === undefined) throw new Error('no topic');
  return [0, 1].map((partition) => ({ topic: 't', topicId: topic.topicId, partition }));
}
