import { toOffset } from '@tidemark/keyspace';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCycle } from './cycle.ts';
import { GuardRig } from './testing/guard-rig.ts';
import { createMemoryParts } from './testing/memory-parts.ts';

let rig: GuardRig;
beforeEach(() => {
  rig = new GuardRig(createMemoryParts());
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
