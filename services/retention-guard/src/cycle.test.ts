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
    ...floors,
    look: async (place) => {
      await rig.produce(topic, 0, 10);
      jobId = await rig.submit({ topic, from: '0:15', to: '0:19' });
      await rig.floorsAre(topic, [15n]);
      return floors.look(place);
    },
  });
  const { partitions } = await runCycle(parts);
  expect(partitions).toMatchObject([{ outcome: 'cut', holder: jobId, highWatermark: 20n, cutOffsets: 10n }]);
});
