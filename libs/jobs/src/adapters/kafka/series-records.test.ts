/** Series beside the jobs in our topics, over the in-memory log. */
import { SchemaName } from '@tidemark/contracts';
import { createMemoryCodec } from '@tidemark/contracts/testing';
import { toOffset } from '@tidemark/keyspace';
import { type LogRecord, scanTopic } from '@tidemark/log';
import { createMemoryCluster } from '@tidemark/log/testing';
import { expect, it, vi } from 'vitest';
import { sampleDefinition, sampleSeries, sampleState } from '../../testing/index.ts';
import { jobTopicSpecs, jobTopics } from '../../topics.ts';
import { createJobInbox } from './job-inbox.ts';
import { openJobJournal } from './job-journal.ts';
import { createJobLog } from './job-log.ts';

const namespace = 'test';
const never = new AbortController().signal;
const position = { formatVersion: 1, partition: 0, nextOffset: 1n, atMs: 5n };
const order = {
  formatVersion: 1,
  orderId: 'o-1',
  series: 'nightly',
  order: 'create',
  definition: sampleDefinition(),
  reason: '',
  actor: 'tester',
};

async function partsWithTopics() {
  const parts = { cluster: createMemoryCluster(), codec: createMemoryCodec(), namespace };
  for (const spec of Object.values(jobTopicSpecs(namespace, 1))) await parts.cluster.catalog.ensure(spec);
  return parts;
}

it('states of series and of jobs are on one topic, and each reader sees its own', async () => {
  const parts = await partsWithTopics();
  const journal = await openJobJournal({ ...parts, transactionalId: 'one' });
  const [old, newer] = [sampleSeries(), sampleSeries({ runs: 2n })];
  // A job may have the name of a series.
  const job = sampleState({ jobId: 'nightly' });
  await journal.commit({ states: [job], series: [old], position });
  await journal.commit({ series: [newer], position });
  const durable = await journal.load(never);
  expect([...durable.states.keys()]).toEqual(['nightly']);
  expect(durable.states.get('nightly')).toMatchObject({ jobId: 'nightly', state: 'RUNNING' });
  expect(durable.series.get('nightly')).toEqual(newer);
  const jobLog = createJobLog(parts);
  expect([...(await jobLog.states()).keys()]).toEqual(['nightly']);
  expect(await jobLog.series()).toEqual(new Map([['nightly', newer]]));
  const keys: string[] = [];
  const topic = await parts.cluster.catalog.describe(jobTopics(namespace).jobState);
  if (topic === undefined) throw new Error('the topic is gone');
  const visit = async ({ key }: LogRecord): Promise<void> => void keys.push(key?.toString() ?? '');
  await scanTopic({ cluster: parts.cluster, topic, visit });
  expect(keys).toEqual(['nightly', 'series/nightly', 'series/nightly']);
});

it('jobs and series are had in one read of the topic', async () => {
  const parts = await partsWithTopics();
  const journal = await openJobJournal({ ...parts, transactionalId: 'one' });
  const [job, series] = [sampleState({ jobId: 'nightly-1' }), sampleSeries({ liveRun: 'nightly-1', runs: 1n })];
  await journal.commit({ states: [job], series: [series], position });
  const opened = vi.spyOn(parts.cluster, 'openReader');
  const found = await createJobLog(parts).jobsAndSeries();
  expect(found).toEqual({ states: new Map([['nightly-1', job]]), series: new Map([['nightly', series]]) });
  expect(opened).toHaveBeenCalledTimes(1);
});

it('an order comes as one, a bad name is malformed, and a newer state is refused by name', async () => {
  const parts = await partsWithTopics();
  const jobLog = createJobLog(parts);
  await jobLog.orderSeries(order);
  await jobLog.orderSeries({ ...order, series: 'a/b' });
  const answer = await createJobInbox(parts).next({ from: toOffset(0), waitMs: 0, signal: never });
  expect(answer.kind === 'records' && answer.records.map(({ content }) => content)).toEqual([
    { kind: 'series', order },
    { kind: 'malformed', code: 'BAD_SERIES_NAME', reason: expect.stringContaining('"a/b"') },
  ]);
  const journal = await openJobJournal({ ...parts, transactionalId: 'one' });
  await journal.commit({ series: [sampleSeries({ formatVersion: 3 })], position });
  await expect(jobLog.series()).rejects.toMatchObject({
    code: 'NEWER_FORMAT',
    message: expect.stringContaining(SchemaName.seriesState),
  });
  expect(await jobLog.states()).toEqual(new Map());
});
