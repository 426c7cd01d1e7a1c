/** The parts of a rig on the real services of the local stack. */
import { createCodec } from '@tidemark/contracts/registry';
import { createRedisCursorStore, createRedisFloorStore, createRedisSchedule } from '@tidemark/cursors/redis';
import { jobTopics } from '@tidemark/jobs';
import { createKafkaCluster } from '@tidemark/log/kafka';
import {
  addPartitions,
  beginTransaction,
  commitOffset,
  deleteTopic,
  produce,
  services,
  uniqueName,
  uniqueNamespace,
} from '@tidemark/testkit';
import { Redis } from 'ioredis';
import { type GuardRigParts, OURS } from './guard-rig.ts';

/** A server that is away for longer is not what these tests are about, but the machine, or a server that starts. */
const RETRY_FOR_MS = 60_000;
/** As long as the broker allows: how long a test takes must not end its transaction. */
const TRANSACTION_TIMEOUT_MS = 900_000;

/** `redis` points at a private server instead of the stack's. */
export async function createServiceParts(at: { readonly redis?: string } = {}): Promise<GuardRigParts> {
  const endpoints = { ...services(), ...at };
  const namespace = uniqueNamespace('guard');
  const cluster = createKafkaCluster({ brokers: [endpoints.kafka], clientId: namespace });
  const address = { url: endpoints.redis, namespace, retryForMs: RETRY_FOR_MS };
  const store = await createRedisCursorStore(address);
  const schedule = await createRedisSchedule(address);
  const floors = await createRedisFloorStore(address);
  const redis = new Redis(endpoints.redis);
  redis.on('error', () => undefined); // a test may kill its own server
  const removeKeys = async (): Promise<void> => {
    for (const key of await redis.keys(`${namespace}:*`)) await redis.del(key);
  };
  const topics: string[] = [];
  return {
    cluster,
    codec: createCodec({ registryUrl: endpoints.registry }),
    store,
    schedule,
    floors,
    namespace,
    newTopic: async (partitionCount, configs = OURS) => {
      const topic = uniqueName('guarded');
      topics.push(topic);
      await cluster.catalog.ensure({ topic, partitionCount, replicationFactor: 1, configs });
      return topic;
    },
    append: async (topic, partition, values) => {
      await produce(
        topic,
        values.map((value) => ({ partition, value })),
      );
    },
    openTransaction: async (topic, values) => {
      const messages = values.map((value) => ({ value }));
      const producer = { transactionTimeout: TRANSACTION_TIMEOUT_MS };
      return (await beginTransaction(topic, messages, { producer })).commit;
    },
    commitOffset,
    deleteTopic,
    addPartitions,
    loseStore: removeKeys,
    close: async () => {
      await removeKeys().catch(() => undefined);
      redis.disconnect();
      await Promise.all([schedule.close(), store.close(), floors.close(), cluster.close()]);
      await Promise.allSettled([...topics, ...Object.values(jobTopics(namespace))].map((topic) => deleteTopic(topic)));
    },
  };
}
