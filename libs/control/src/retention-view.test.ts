import type { SeriesState } from '@tidemark/contracts';
import { createMemoryCodec } from '@tidemark/contracts/testing';
import { createMemoryFloorStore } from '@tidemark/cursors/testing';
import { createMarkLog } from '@tidemark/jobs/kafka';
import { sampleDefinition, samplePin, sampleRequest, sampleSeries, sampleState } from '@tidemark/jobs/testing';
import { toOffset } from '@tidemark/keyspace';
import { createMemoryCluster } from '@tidemark/log/testing';
import { expect, it } from 'vitest';
import { viewRetention } from './retention-view.ts';
import { scriptedJobLog } from './testing/scripted-job-log.ts';

async function setUp(series: readonly SeriesState[] = []) {
  const cluster = createMemoryCluster();
  const topic = cluster.createTopic('orders', { partitionCount: 2 });
  const writer = await cluster.openWriter();
  await writer.append(
    Array.from({ length: 100 }, () => ({ topic: 'orders', partition: 0, key: null, value: Buffer.alloc(10) })),
  );
  const floors = createMemoryFloorStore({ now: Date.now });
  const marks = createMarkLog({ cluster, codec: createMemoryCodec(), namespace: 'test' });
  await marks.ensure(1);
  const place = { topic: 'orders', topicId: topic.topicId, partition: 0 };
  await floors.withhold({ place, life: 'a' });
  const filled = [{ holder: 'slow', offset: toOffset(40n) }];
  const incarnation = await floors.incarnation();
  await floors.install({ place, life: 'a', incarnation, mark: toOffset(10n), floors: filled });
  const request = sampleRequest({ jobId: 'slow', topic: 'orders' });
  const pin = { ...samplePin([[39n, 99n]]), topicId: topic.topicId, pinnedAtMs: 5_000n };
  const jobLog = scriptedJobLog({ states: [sampleState({ jobId: 'slow', state: 'RUNNING', request, pin })], series });
  const look = () => viewRetention({ cluster, jobLog, floors, marks, topics: [] });
  return { cluster, topic, marks, place, look };
}

it('names all holders, since when, and bytes, when no guard has looked', async () => {
  const { look } = await setUp();
  const view = await look();
  expect(view.kind === 'rows' && view.rows).toMatchObject([
    {
      partition: 0,
      floor: 40n,
      holder: 'slow',
      heldBy: [{ holder: 'slow', floor: 40n }],
      sinceMs: 5_000n,
      heldBytes: 600n,
      guard: null,
      released: [],
      removals: [],
    },
    { partition: 1, state: 'not filled', heldBy: [], sinceMs: null },
  ]);
});

it('shows what a guard saw: groups as they are now, forecasts, and what others removed', async () => {
  const { cluster, topic, marks, place, look } = await setUp();
  cluster.commitOffset('billing', 'orders', 0, 30n);
  const groups = [
    { group: 'billing', offset: 20n },
    { group: 'new', offset: null },
  ];
  const seen = { partition: 0, outcome: 'held', reason: 'why', target: 20n, policyAtFloorAtMs: 9_000n, groups };
  const disk = { directory: '/a', totalBytes: 100n, usableBytes: 50n };
  const disks = [
    { ...disk, broker: 1, fullAtMs: 8_000n },
    { ...disk, broker: 2, fullAtMs: 7_000n },
    { ...disk, broker: 3, fullAtMs: null },
  ];
  const by = { formatVersion: 1, guard: 'a test', atMs: 6_000n };
  await marks.tell([{ ...by, topic: 'orders', topicId: topic.topicId, partitions: [seen], disks }]);
  const removals = [{ fromOffset: 0n, toOffset: 5n, seenAtMs: 4_000n, needed: [] }];
  const session = await marks.openSession();
  await session.watch([{ ...by, ...place, firstLogStart: 0n, removals, wentBackMark: -1n, releases: [] }]);
  await session.close();
  const view = await look();
  expect(view.kind === 'rows' && view.rows[0]).toMatchObject({
    floor: 0n,
    holder: 'group new',
    sinceMs: null,
    heldBy: [
      { holder: 'group new', floor: null },
      { holder: 'group billing', floor: 30n },
      { holder: 'slow', floor: 40n },
    ],
    guard: { atMs: 6_000n, outcome: 'held', reason: 'why', policyAtFloorAtMs: 9_000n, diskFullAtMs: 7_000n },
    removals,
  });
});

it('a job that was released holds nothing, and is shown as such', async () => {
  const { marks, place, look } = await setUp();
  const releases = [{ holder: 'slow', fromOffset: 40n, atMs: 9_000n }];
  const session = await marks.openSession();
  const seen = { firstLogStart: 0n, removals: [], wentBackMark: -1n, releases };
  await session.watch([{ formatVersion: 1, ...place, ...seen, guard: 'a test', atMs: 9_000n }]);
  await session.close();
  const view = await look();
  expect(view.kind === 'rows' && view.rows[0]).toMatchObject({
    state: 'free',
    holder: null,
    heldBy: [],
    heldOffsets: 0n,
    released: releases,
  });
});

it('a topic that only a series holds is among those that are shown without being asked for', async () => {
  const series = ['ACTIVE', 'DELETED'].map((status) => {
    const request = sampleRequest({ jobId: status.toLowerCase(), topic: `of-${status.toLowerCase()}` });
    return sampleSeries({ series: request.jobId, status, definition: sampleDefinition({ request }) });
  });
  const { cluster, look } = await setUp(series);
  for (const topic of ['of-active', 'of-deleted']) cluster.createTopic(topic, { partitionCount: 1 });
  const view = await look();
  expect(view.kind === 'rows' && [...new Set(view.rows.map(({ topic }) => topic))]).toEqual(['of-active', 'orders']);
});
