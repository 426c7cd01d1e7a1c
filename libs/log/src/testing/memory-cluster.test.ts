import { ErrorClass, TidemarkError, toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { describeLogContract } from './log.contract.ts';
import { createMemoryCluster, type MemoryCluster } from './memory-cluster.ts';
import { readAll } from './read-all.ts';

let named = 0;
const uniqueName = (base: string): string => `${base}-${++named}`;

describeLogContract('the in-memory log', async () => {
  const cluster = createMemoryCluster();
  return {
    cluster,
    uniqueName,
    createTopic: async (options) => cluster.createTopic(uniqueName('topic'), options),
    deleteTopic: async (topic) => cluster.deleteTopic(topic),
    commitOffset: async (group, topic, partition, offset) => cluster.commitOffset(group, topic, partition, offset),
    begin: async () => {
      const transaction = cluster.begin();
      return {
        append: async (records) => void transaction.append(records),
        commit: async () => transaction.commit(),
        abort: async () => transaction.abort(),
      };
    },
    close: () => cluster.close(),
  };
});

describe('what tests do to the in-memory log', () => {
  const outage = new TidemarkError({ code: 'KAFKA_UNAVAILABLE', class: ErrorClass.unavailable, message: 'planned' });
  const record = (key: string, value: string) => ({
    topic: 't',
    partition: 0,
    key: Buffer.from(key),
    value: Buffer.from(value),
  });

  async function filled(): Promise<{
    cluster: MemoryCluster;
    source: { topic: string; topicId: string; partition: number };
  }> {
    const cluster = createMemoryCluster();
    const { topicId } = cluster.createTopic('t');
    const writer = await cluster.openWriter();
    await writer.append([record('a', '1'), record('b', '1'), record('a', '2')]);
    return { cluster, source: { topic: 't', topicId, partition: 0 } };
  }

  it('compacts by key, with holes where records were', async () => {
    const { cluster, source } = await filled();
    cluster.compact('t', 0);
    const { offsets, holes } = await readAll({ reader: cluster.openReader(), source, end: 2n });
    expect([offsets, holes]).toEqual([[1, 2], [{ first: 0n, last: 0n, kind: 'compacted' }]]);
  });

  it('goes back, and cannot be decoded, on demand', async () => {
    const { cluster, source } = await filled();
    cluster.appendDamaged('t', 0, 'codec 5');
    const { offsets, stop } = await readAll({ reader: cluster.openReader(), source, end: 3n });
    expect([offsets, stop]).toEqual([[0, 1, 2], { kind: 'unreadable', offset: 3n, message: 'codec 5' }]);
    cluster.truncate('t', 0, 1n);
    expect((await readAll({ reader: cluster.openReader(), source, cursor: 2n, end: 3n })).stop).toEqual({
      kind: 'log went back',
      highWatermark: 1n,
    });
  });

  it('fails the next call once, before it or after it took effect', async () => {
    const { cluster, source } = await filled();
    cluster.faults.failNext('read', outage);
    const request = { source, cursor: toOffset(-1), end: toOffset(0), recordsMax: 1, bytesMax: 99, waitMs: 0 };
    await expect(cluster.openReader().read(request)).rejects.toBe(outage);
    const writer = await cluster.openTransactionalWriter({ transactionalId: 'x' });
    cluster.faults.failNext('commit', outage, 'after');
    await expect(writer.commit([record('c', '1')])).rejects.toBe(outage);
    expect([writer.usable, cluster.faults.pending]).toEqual([false, 0]);
    expect((await readAll({ reader: cluster.openReader(), source, end: 4n })).offsets).toEqual([0, 1, 2, 3]);
  });
});
