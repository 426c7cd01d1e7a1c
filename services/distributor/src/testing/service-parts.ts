/** The parts of a rig on the real services of the local stack. */
import { createCodec } from '@tidemark/contracts/registry';
import {
  createRedisCursorStore,
  createRedisFloorStore,
  createRedisLeadership,
  createRedisSchedule,
} from '@tidemark/cursors/redis';
import { jobTopics } from '@tidemark/jobs';
import { createKafkaCluster } from '@tidemark/log/kafka';
import {
  addPartitions,
  beginTransaction,
  deleteTopic,
  produce,
  services,
  uniqueName,
  uniqueNamespace,
} from '@tidemark/testkit';
import { Redis } from 'ioredis';
import type { RigParts } from './rig.ts';

/** The stack's server is there all the time: a call that it does not answer within seconds waits for the machine. */
const STACK_RETRY_FOR_MS = 60_000;
/** As long as the broker allows: how long a test takes must not end its transaction. */
const TRANSACTION_TIMEOUT_MS = 900_000;

/** `at` points at private services instead of the stack's. */
export async function createServiceParts(
  at: { readonly kafka?: string; readonly redis?: string } = {},
): Promise<RigParts> {
  const endpoints = { ...services(), ...at };
  const namespace = uniqueNamespace('distributor');
  const cluster = createKafkaCluster({ brokers: [endpoints.kafka], clientId: namespace });
  const patience = at.redis === undefined ? { retryForMs: STACK_RETRY_FOR_MS } : {};
  const address = { url: endpoints.redis, namespace, ...patience };
  const store = await createRedisCursorStore(address);
  const schedule = await createRedisSchedule(address);
  const floors = await createRedisFloorStore(address);
  const leadership = await createRedisLeadership(address);
  const redis = new Redis(endpoints.redis);
  redis.on('error', () => undefined); // a test may kill its own server
  const removeKeys = async (): Promise<void> => {
    const keys = await redis.keys(`${namespace}:*`);
    // All in one go: a store that loses its keys one by one is filled again and again meanwhile.
    await Promise.all(keys.map((key) => redis.del(key)));
  };
  const topics: string[] = [];
  return {
    cluster,
    codec: createCodec({ registryUrl: endpoints.registry }),
    store,
    schedule,
    floors,
    leadership,
    namespace,
    loseStore: removeKeys,
    // In the same life of the store: nothing but its content tells that it went back.
    dumpStore: async () => {
      const dump = new Map<string, Buffer>();
      for (const key of await redis.keys(`${namespace}:*`)) {
        const value = await redis.dumpBuffer(key);
        if (value !== null) dump.set(key, value);
      }
      return async () => {
        const keys = await redis.keys(`${namespace}:*`);
        // All in one go, over whatever is there: a distributor looks and writes meanwhile.
        await Promise.all([
          ...keys.filter((key) => !dump.has(key)).map((key) => redis.del(key)),
          ...[...dump].map(([key, value]) => redis.restore(key, 0, value, 'REPLACE')),
        ]);
      };
    },
    addPartitions: async (topic, partitions, values) => {
      await addPartitions(topic, Math.max(...partitions) + 1, { kafka: endpoints.kafka });
      const messages = values.map((value) => ({ value }));
      for (const partition of partitions) await produce(topic, messages, { partition, kafka: endpoints.kafka });
    },
    // Without an age limit: the broker would remove records with timestamps of a test's own choice.
    newTopic: async (partitionCount) => {
      const topic = uniqueName('distributor');
      topics.push(topic);
      await cluster.catalog.ensure({ topic, partitionCount, replicationFactor: 1, configs: { 'retention.ms': '-1' } });
      return topic;
    },
    openTransaction: async (topic, values) => {
      const messages = values.map((value) => ({ value }));
      const producer = { transactionTimeout: TRANSACTION_TIMEOUT_MS };
      return (await beginTransaction(topic, messages, { kafka: endpoints.kafka, producer })).commit;
    },
    close: async () => {
      await removeKeys();
      redis.disconnect();
      await Promise.all([schedule.close(), store.close(), floors.close(), leadership.close(), cluster.close()]);
      const own = Object.values(jobTopics(namespace));
      // Of our own topics some may never have been created.
      await Promise.allSettled([...topics, ...own].map((topic) => deleteTopic(topic, { kafka: endpoints.kafka })));
    },
  };
}
