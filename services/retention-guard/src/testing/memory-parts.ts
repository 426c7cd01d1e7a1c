/** The parts of a rig without any service. */
import { randomUUID } from 'node:crypto';
import { createMemoryCodec } from '@tidemark/contracts/testing';
import { createMemoryCursorStore, createMemoryFloorStore, createMemorySchedule } from '@tidemark/cursors/testing';
import { createMemoryCluster, type MemoryCluster } from '@tidemark/log/testing';
import { type GuardRigParts, OURS } from './guard-rig.ts';

export interface MemoryParts extends GuardRigParts {
  readonly cluster: MemoryCluster;
}

export function createMemoryParts(): MemoryParts {
  const cluster = createMemoryCluster();
  const store = createMemoryCursorStore({ now: Date.now });
  const floors = createMemoryFloorStore({ now: Date.now });
  return {
    cluster,
    codec: createMemoryCodec(),
    store,
    schedule: createMemorySchedule({ now: Date.now }),
    floors,
    namespace: 'test',
    newTopic: async (partitionCount, configs = OURS) =>
      cluster.createTopic(`topic-${randomUUID()}`, { partitionCount, configs }).topic,
    append: async (topic, partition, values) => {
      const writer = await cluster.openWriter();
      await writer.append(values.map((value) => ({ topic, partition, key: null, value: Buffer.from(value) })));
    },
    openTransaction: async (topic, values) => {
      const transaction = cluster.begin();
      transaction.append(values.map((value) => ({ topic, partition: 0, key: null, value: Buffer.from(value) })));
      return async () => transaction.commit();
    },
    commitOffset: async (group, topic, partition, offset) => cluster.commitOffset(group, topic, partition, offset),
    deleteTopic: async (topic) => cluster.deleteTopic(topic),
    addPartitions: async (topic, partitionCount) => cluster.addPartitions(topic, partitionCount),
    loseStore: async () => {
      store.loseEverything();
      floors.loseEverything();
      floors.restart();
    },
    close: () => cluster.close(),
  };
}
