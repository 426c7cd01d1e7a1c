import { randomUUID } from 'node:crypto';
import { newRequest } from '@tidemark/jobs';
import { ErrorClass, TidemarkError, toOffset } from '@tidemark/keyspace';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCycle } from './cycle.ts';
import { GuardRig } from './testing/guard-rig.ts';
import { createMemoryParts, type MemoryParts } from './testing/memory-parts.ts';

const A_DAY = { ageMs: 86_400_000 };

let memory: MemoryParts;
let rig: GuardRig;
beforeEach(() => {
  memory = createMemoryParts();
  rig = new GuardRig(memory);
});
afterEach(() => rig.close());

it('a job pinned at the new end of the log, after its offsets were read, is not beyond the log', async () => {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, 10);
  await rig.distribute();
  await rig.finish(await rig.submit({ topic }));
  const { floors } = rig.parts;
  let jobId = '';
  const parts = rig.guardParts([{ topic, ageMs: 0, bytes: undefined }], {
    floors: {
      ...floors,
      look: async (place) => {
        await rig.produce(topic, 0, 10);
        jobId = await rig.submit({ topic, from: '0:15', to: '0:19' });
        await rig.floorsAre(topic, [15n]);
        return floors.look(place);
      },
    },
  });
  const { partitions } = await runCycle(parts);
  expect(partitions).toMatchObject([{ outcome: 'cut', holder: jobId, highWatermark: 20n, cutOffsets: 10n }]);
});

it('a group that went back while the cycle ran is not cut off, nor later, until it has passed the mark', async () => {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, 50);
  await rig.distribute();
  await rig.finish(await rig.submit({ topic }));
  const { floors } = rig.parts;
  await rig.parts.commitOffset('billing', topic, 0, 40n);
  const options = { groups: new Map([[topic, ['billing']]]) };
  const policies = [{ topic, ageMs: 0, bytes: undefined }];
  const holdsMark: typeof floors.holdsMark = async (request) => {
    await rig.parts.commitOffset('billing', topic, 0, 10n);
    return floors.holdsMark(request);
  };
  const resetMeanwhile = rig.guardParts(policies, { ...options, floors: { ...floors, holdsMark } });
  const held = { outcome: 'held', floor: 10n, reason: expect.stringContaining('below the mark 40') };
  expect((await runCycle(resetMeanwhile)).partitions).toMatchObject([held]);
  expect((await runCycle(rig.guardParts(policies, options))).partitions).toMatchObject([held]);
  expect(await rig.logStarts(topic)).toEqual([0n]);
  await rig.parts.commitOffset('billing', topic, 0, 45n);
  expect((await runCycle(rig.guardParts(policies, options))).partitions).toMatchObject([
    { outcome: 'cut', cutOffsets: 45n },
  ]);
});

it('a group that cannot be read holds everything, and the other topics are looked after', async () => {
  const cluster = rig.parts.cluster;
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, 50);
  await rig.distribute();
  await rig.finish(await rig.submit({ topic }));
  const parts = rig.guardParts([{ topic, ageMs: 0, bytes: undefined }], { groups: new Map([[topic, ['billing']]]) });
  const catalog = {
    ...parts.cluster.catalog,
    committedOffsets: () => Promise.reject(new Error('GROUP_AUTHORIZATION_FAILED')),
  };
  const report = await runCycle({ ...parts, cluster: { openReader: () => cluster.openReader(), catalog } });
  expect(report.partitions).toMatchObject([
    { outcome: 'held', holder: 'group billing', reason: expect.stringContaining('GROUP_AUTHORIZATION_FAILED') },
  ]);
  expect(await rig.logStarts(topic)).toEqual([toOffset(0n)]);
});

it('a topic that was deleted and created again is named, and nothing is cut by the mark of the former one', async () => {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, 50);
  await rig.distribute();
  await rig.finish(await rig.submit({ topic }));
  expect(await rig.outcomes(topic)).toEqual(['cut']);
  memory.cluster.recreateTopic(topic);
  await rig.produce(topic, 0, 80);
  const report = await rig.cycle(topic);
  expect(report.recreated.get(topic)).toMatch(/deleted and created again/);
  expect(report.partitions).toMatchObject([{ outcome: 'unread', logStartOffset: 0n, removals: [] }]);
  const again = await rig.cycle(topic);
  expect([...again.recreated]).toEqual([]);
  await rig.finish(await rig.submit({ topic, to: '0:59' }));
  expect(await rig.outcomes(topic, A_DAY)).toEqual(['idle']);
  expect(await rig.logStarts(topic)).toEqual([0n]);
});

it('B6: after a log went back nothing is cut by the old mark, also when it has grown past it again', async () => {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, 100);
  await rig.distribute();
  const holding = await rig.submit({ topic, from: '0:60' });
  const { floors } = rig.parts;
  // A guard that dies before the deletion: the mark of 60 is a promise that is not kept yet.
  const dying = { ...floors, holdsMark: () => Promise.reject(new Error('killed')) };
  await runCycle(rig.guardParts([{ topic, ageMs: 0, bytes: undefined }], { floors: dying }));
  await rig.finish(holding);
  memory.cluster.truncate(topic, 0, 30n);
  const back = await rig.cycle(topic, A_DAY);
  expect(back.partitions).toMatchObject([{ outcome: 'beyond_log', reason: expect.stringContaining('the mark is 60') }]);
  await rig.produce(topic, 0, 50);
  const grown = await rig.cycle(topic, A_DAY);
  expect(grown.partitions).toMatchObject([{ outcome: 'beyond_log', reason: expect.stringContaining('grown again') }]);
  expect(await rig.logStarts(topic)).toEqual([0n]);
  expect((await rig.cycle(topic)).partitions).toMatchObject([{ outcome: 'cut', cutOffsets: 80n }]);
});

it('a floor is released only when that is durable', async () => {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, 50);
  await rig.distribute();
  const jobId = await rig.submit({ topic });
  const holds = new Map([[topic, { alarmMs: 0, releaseMs: 0 }]]);
  const nowMs = () => Date.now() + 60_000;
  await rig.cycle(topic);
  const parts = rig.guardParts([{ topic, ageMs: 0, bytes: undefined }], { holds, nowMs });
  const fenced = new TidemarkError({ code: 'PRODUCER_FENCED', class: ErrorClass.fenced, message: 'another guard' });
  const openSession = async () => ({
    ...(await parts.marks.openSession()),
    watch: () => Promise.reject(fenced),
  });
  const [seen] = (await runCycle({ ...parts, marks: { ...parts.marks, openSession } })).partitions;
  expect(seen).toMatchObject({ outcome: 'held', overdue: [{ holder: jobId }] });
  expect(seen?.releases).toBeUndefined();
  expect(await rig.floors(topic)).toEqual([0n]);
  expect((await runCycle(parts)).partitions).toMatchObject([{ outcome: 'cut', releases: [{ holder: jobId }] }]);
});

/** A floor that a crash left behind, of a series that was deleted. */
async function strandSeriesFloor(topic: string): Promise<void> {
  const place = { ...(await rig.describe(topic)), partition: 0 };
  await orderSeries('old', topic, 'create');
  await rig.floorsAre(topic, [0n]);
  await orderSeries('old', topic, 'delete');
  await rig.floorsAre(topic, [undefined]);
  await rig.parts.floors.confirm({ place, holder: 'series:old', offset: toOffset(5n), wasConfirmed: true });
}

async function orderSeries(series: string, topic: string, order: 'create' | 'delete'): Promise<void> {
  const request = newRequest({ jobId: series, topic, handler: 'count' });
  const definition = order === 'create' ? { request, cron: '', zone: 'UTC', everyMs: 3_600_000n } : null;
  const by = { reason: 'a test', actor: 'tester' };
  await rig.jobLog.orderSeries({ formatVersion: 1, orderId: randomUUID(), series, order, definition, ...by });
}

const anHourLater = (): number => Date.now() + 3_600_000;

it('the floor that a crash left of a deleted series goes, and one cycle later what it held', async () => {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, 50);
  await rig.distribute();
  await strandSeriesFloor(topic);
  const policies = [{ topic, ageMs: 0, bytes: undefined }];
  expect(await runCycle(rig.guardParts(policies))).toMatchObject({ staleFloors: [], partitions: [{ outcome: 'cut' }] });
  expect(await runCycle(rig.guardParts(policies, { nowMs: anHourLater }))).toMatchObject({
    staleFloors: [{ topic, partition: 0, holder: 'series:old' }],
  });
  expect(await rig.logStarts(topic)).toEqual([5n]);
  expect((await rig.cycle(topic)).partitions).toMatchObject([{ outcome: 'cut', cutOffsets: 45n }]);
});

it('a series that is created again while the floor of its former one is dropped loses nothing', async () => {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, 50);
  await rig.distribute();
  await strandSeriesFloor(topic);
  const { floors } = rig.parts;
  const drop: typeof floors.drop = async (request) => {
    await orderSeries('old', topic, 'create');
    await rig.until('the series to be there', async () => {
      const state = (await rig.jobLog.series()).get('old');
      return state?.status === 'ACTIVE' && (await rig.floors(topic))[0] === 0n;
    });
    return floors.drop(request);
  };
  const parts = rig.guardParts([{ topic, ageMs: 0, bytes: undefined }], {
    nowMs: anHourLater,
    floors: { ...floors, drop },
  });
  expect((await runCycle(parts)).partitions).toMatchObject([{ outcome: 'incomplete' }]);
  expect(await rig.logStarts(topic)).toEqual([0n]);
});

it('P7: what somebody else removes under a series, which no job needs yet, is found, and by whom it is needed', async () => {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, 50);
  await rig.distribute();
  await orderSeries('nightly', topic, 'create');
  await rig.floorsAre(topic, [0n]);
  expect(await rig.outcomes(topic)).toEqual(['held']);
  await rig.removeBehindOurBack(topic, 0, 20n);
  const needed = [{ holder: 'series:nightly', from: 0n, to: 20n }];
  expect((await rig.cycle(topic)).partitions).toMatchObject([
    { removals: [{ from: 0n, to: 20n, needed, isNew: true }] },
  ]);
  expect((await rig.cycle(topic)).partitions).toMatchObject([{ removals: [{ from: 0n, to: 20n, isNew: false }] }]);
});
