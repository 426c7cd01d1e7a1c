/** The parts of a rig without any service. */
import { randomUUID } from 'node:crypto';
import { createMemoryCodec } from '@tidemark/contracts/testing';
import {
  createMemoryCursorStore,
  createMemoryFloorStore,
  createMemoryLeadership,
  createMemorySchedule,
  type MemoryCursorStore,
  type MemoryFloorStore,
} from '@tidemark/cursors/testing';
import { createMemoryCluster, type MemoryCluster } from '@tidemark/log/testing';
import type { RigParts } from './rig.ts';

export interface MemoryParts extends RigParts {
  readonly cluster: MemoryCluster;
  readonly store: MemoryCursorStore;
  readonly floors: MemoryFloorStore;
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
    leadership: createMemoryLeadership({ now: Date.now }),
    namespace: 'test',
    loseStore: async () => {
      store.loseEverything();
      floors.loseEverything();
      floors.restart();
    },
    dumpStore: async () => {
      const restart = store.save();
      return async () => {
        restart();
        floors.restart();
      };
    },
    addPartitions: async (topic, partitions, values) => {
      cluster.addPartitions(topic, Math.max(...partitions) + 1);
      const writer = await cluster.openWriter();
      for (const partition of partitions)
        await writer.append(values.map((value) => ({ topic, partition, key: null, value: Buffer.from(value) })));
    },
    newTopic: async (partitionCount) => cluster.createTopic(`topic-${randomUUID()}`, { partitionCount }).topic,
    openTransaction: async (topic, values) => {
      const transaction = cluster.begin();
      transaction.append(values.map((value) => ({ topic, partition: 0, key: null, value: Buffer.from(value) })));
      return async () => transaction.commit();
    },
    close: () => cluster.close(),
  };
}
