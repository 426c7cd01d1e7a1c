/** The contract's harness over the local broker. */
import { commitOffset, createTopic, deleteTopic, kafkaClient, services, uniqueName, waitFor } from '@tidemark/testkit';
import type { Producer, Transaction } from 'kafkajs';
import { createKafkaCluster } from '../adapters/kafka/cluster.ts';
import type { OutgoingRecord, TopicDescription } from '../ports.ts';
import type { DrivenTransaction, LogHarness } from './contract-harness.ts';

export async function openKafkaHarness(): Promise<LogHarness> {
  const cluster = createKafkaCluster({ brokers: [services().kafka], clientId: uniqueName('log-test') });
  const described = async (topic: string): Promise<TopicDescription> =>
    waitFor(`topic ${topic}`, () => cluster.catalog.describe(topic));
  return {
    cluster,
    uniqueName,
    createTopic: async ({ partitionCount = 1, configs = {} } = {}) => {
      // Times of long ago are part of some tests, and the broker deletes old segments within seconds.
      return described(
        await createTopic(uniqueName('log'), {
          partitions: partitionCount,
          configs: { 'retention.ms': '-1', ...configs },
        }),
      );
    },
    deleteTopic: async (topic) => {
      await deleteTopic(topic);
      await waitFor(`the end of topic ${topic}`, async () => (await cluster.catalog.describe(topic)) === undefined);
    },
    commitOffset,
    begin: () => beginTransaction(),
    close: () => cluster.close(),
  };
}

/** A transaction of a producer of its own, so that several can interleave. It stays open for longer than any test runs. */
export async function beginTransaction(transactionalId = uniqueName('driven')): Promise<DrivenTransaction> {
  const producer = kafkaClient().producer({ transactionalId, maxInFlightRequests: 1, transactionTimeout: 600_000 });
  await producer.connect();
  return driven(producer, await producer.transaction());
}

function driven(producer: Producer, transaction: Transaction): DrivenTransaction {
  return {
    append: async (records: readonly OutgoingRecord[]) => {
      for (const [topic, group] of Map.groupBy(records, (record) => record.topic)) {
        await transaction.send({
          topic,
          messages: group.map(({ partition = 0, key, value }) => ({ partition, key, value })),
        });
      }
    },
    commit: async () => {
      await transaction.commit();
      await producer.disconnect();
    },
    abort: async () => {
      await transaction.abort();
      await producer.disconnect();
    },
  };
}
