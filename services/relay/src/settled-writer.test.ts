import { toOffset } from '@tidemark/keyspace';
import type { LogEntry } from '@tidemark/log';
import { createMemoryCluster, type MemoryCluster } from '@tidemark/log/testing';
import { expect, it } from 'vitest';
import { createSettledWriter } from './settled-writer.ts';

const record = (topic: string, value: string) => {
  return { topic, partition: 0, key: Buffer.from('k'), value: Buffer.from(value), headers: [] };
};

async function open(cluster: MemoryCluster) {
  const writer = await cluster.openTransactionalWriter({ transactionalId: 'relay' });
  const producerIds = new Set([(await cluster.catalog.transactions.producerOf('relay'))?.producerId ?? -1n]);
  const { transactions } = cluster.catalog;
  return { writer, transactions, producerIds, positionTopic: 'positions', settleMs: 20 };
}

function createCluster(): MemoryCluster {
  const cluster = createMemoryCluster();
  for (const topic of ['positions', 'events', 'others']) cluster.createTopic(topic);
  return cluster;
}

it('G17, P9: a commit whose markers do not come is no commit, and the session is over', async () => {
  const cluster = createCluster();
  const parts = await open(cluster);
  // The broker answers, and dies before the markers.
  const lost = { ...parts.writer, commit: async () => cluster.hang('relay', [record('events', '1')]) };
  const settled = createSettledWriter({ ...parts, writer: lost, cleanTopics: ['events'], onLeftOpen: async () => {} });
  await expect(settled.commit([record('events', '1'), record('positions', 'p')])).rejects.toMatchObject({
    code: 'TRANSACTION_HANGS',
    class: 'unavailable',
    message: expect.stringContaining('events/0 from 0 on'),
  });
  expect(settled.usable).toBe(false);
});

it('G17, P9: what an older session left open where nobody looked is ended before anything is added to it', async () => {
  const cluster = createCluster();
  await cluster.openTransactionalWriter({ transactionalId: 'relay' });
  cluster.hang('relay', [record('others', 'old')]);
  const parts = await open(cluster);
  const settled = createSettledWriter({
    ...parts,
    cleanTopics: ['events'],
    async onLeftOpen(left) {
      for (const each of left) await parts.transactions.end(each, 'abort');
    },
  });
  await settled.commit([record('others', 'new'), record('positions', 'p')]);
  const entries: LogEntry[] = [];
  const source = await sourceOf(cluster, 'others');
  for await (const entry of parts.transactions.entries(source, toOffset(0))) entries.push(entry);
  expect(entries.map((entry) => (entry.kind === 'data' ? `${entry.records[0]?.value}` : entry.outcome))).toEqual([
    'old',
    'abort',
    'new',
    'commit',
  ]);
});

async function sourceOf(cluster: MemoryCluster, topic: string) {
  const described = await cluster.catalog.describe(topic);
  if (described === undefined) throw new Error(`no topic ${topic}`);
  return { topic, topicId: described.topicId, partition: 0 };
}
