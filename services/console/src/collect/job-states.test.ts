import { SchemaName } from '@tidemark/contracts';
import { createMemoryCodec } from '@tidemark/contracts/testing';
import { jobTopics } from '@tidemark/jobs';
import { createMemoryCluster } from '@tidemark/log/testing';
import { expect, it } from 'vitest';
import { READ_ANEW_AFTER_MS } from '../limits.ts';
import { jobState } from '../testing/sights.ts';
import { createJobStates } from './job-states.ts';

it('a job that was removed while nobody looked is gone, though the broker has cleaned its tombstone away', async () => {
  const cluster = createMemoryCluster();
  const codec = createMemoryCodec();
  const topic = jobTopics('ns').jobState;
  cluster.createTopic(topic, { configs: { 'cleanup.policy': 'compact' } });
  const writer = await cluster.openTransactionalWriter({ transactionalId: 't' });
  const put = async (jobId: string, isGone = false) => {
    const value = isGone ? null : await codec.encode(SchemaName.jobState, jobState({ jobId }));
    await writer.commit([{ topic, partition: 0, key: Buffer.from(jobId), value }]);
  };
  let nowMs = 0;
  const look = createJobStates({ cluster, codec, namespace: 'ns' }, () => nowMs);
  const seen = async () => [...(await look()).jobs.keys()].sort();

  await put('a');
  await put('b');
  expect(await seen()).toEqual(['a', 'b']);
  await put('a', true);
  nowMs += READ_ANEW_AFTER_MS - 1;
  expect(await seen()).toEqual(['b']);
  await put('b', true);
  await put('c');
  cluster.compact(topic, 0, ({ key }) => key?.toString() === 'c');
  nowMs += READ_ANEW_AFTER_MS;
  expect(await seen()).toEqual(['c']);
});
