/** A job that republishes is refused at its start, durably and with what to do, when its target is none. */
import { expect, it, onTestFinished } from 'vitest';
import { createMemoryParts } from './testing/memory-parts.ts';
import { Rig } from './testing/rig.ts';

it('B3: refuses a missing target, one of other partitions, and its own topics, and takes a target that is there', async () => {
  const parts = createMemoryParts();
  const rig = new Rig(parts);
  onTestFinished(() => rig.close());
  const topic = await parts.newTopic(2);
  const narrow = await parts.newTopic(1);
  await rig.produce(topic, 0, ['0']);
  await rig.start();
  const ended = async (parameters: Readonly<Record<string, string>>): Promise<string> =>
    (await rig.ended(await rig.request({ topic, handler: 'republish', parameters, acceptDuplicates: true }))).reason;
  expect(await ended({ topic: 'nowhere' })).toMatch(/^TARGET_NOT_FOUND: topic nowhere, .*create it first/);
  expect(await parts.cluster.catalog.describe('nowhere')).toBeUndefined();
  expect(await ended({ topic: narrow, partition: 'keep' })).toMatch(/^TARGET_PARTITIONS: .*partition=hash places/);
  expect(await ended({ topic: `${parts.namespace}.jobs` })).toMatch(/^TARGET_FORBIDDEN: /);
  expect(await ended({ topic })).toMatch(/^INVALID_REQUEST: .*is the topic that is read/);
  const fits = await rig.request({
    topic,
    handler: 'republish',
    parameters: { topic: narrow },
    acceptDuplicates: true,
  });
  await rig.state(fits, 'RUNNING');
});
