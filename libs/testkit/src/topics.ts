/** Topics of a test, on the stack or on a private broker. */
import { repairTimers } from '@tidemark/log/kafkajs-timers';
import { type Admin, Kafka, logLevel, type Message, type ProducerConfig, type RecordMetadata } from 'kafkajs';
import {
  REQUEST_TIMEOUT_MS,
  TOPIC_READY_TIMEOUT_MS,
  TOPIC_REQUEST_TIMEOUT_MS,
  TRANSACTION_TIMEOUT_MS,
} from './limits.ts';
import { services, uniqueName } from './services.ts';
import { waitFor } from './wait-for.ts';

export interface OnBroker {
  /** host:port; the stack's broker when left out. */
  kafka?: string;
}

/** Compaction within seconds: the active segment is rolled each second and everything behind it is dirty enough. */
export const FAST_COMPACTION: Readonly<Record<string, string>> = {
  'cleanup.policy': 'compact',
  'segment.ms': '1000',
  'min.cleanable.dirty.ratio': '0.01',
  'delete.retention.ms': '1000',
};

/** A kafkajs client without logs. The short first retry is what its transactions need, see the README. */
export function kafkaClient(options: OnBroker = {}): Kafka {
  repairTimers();
  return new Kafka({
    clientId: uniqueName('testkit'),
    brokers: [options.kafka ?? services().kafka],
    logLevel: logLevel.NOTHING,
    requestTimeout: REQUEST_TIMEOUT_MS,
    retry: { initialRetryTime: 10, maxRetryTime: 1_000, retries: 20 },
  });
}

/** Creates a topic of a name that is unique already (`uniqueName`), and returns the name when all of it can be written and read. */
export async function createTopic(
  name: string,
  options: { partitions?: number; configs?: Readonly<Record<string, string>> } & OnBroker = {},
): Promise<string> {
  const configEntries = Object.entries(options.configs ?? {}).map(([key, value]) => ({ name: key, value }));
  const partitions = options.partitions ?? 1;
  const topic = { topic: name, numPartitions: partitions, replicationFactor: 1, configEntries };
  await withAdmin(options, async (admin) => {
    // The client's own wait gives up when a busy broker does not know the topic yet.
    await admin.createTopics({ topics: [topic], waitForLeaders: false, timeout: TOPIC_REQUEST_TIMEOUT_MS });
    await untilReady(admin, name, partitions);
  });
  return name;
}

/** Up to `count` in all; resolves when all of them can be written and read. */
export async function addPartitions(topic: string, count: number, options: OnBroker = {}): Promise<void> {
  await withAdmin(options, async (admin) => {
    await admin.createPartitions({ topicPartitions: [{ topic, count }] });
    await untilReady(admin, topic, count);
  });
}

/**
 * As a consumer group whose members are away. In a transaction, which needs no member; the client's `setOffsets` runs a consumer,
 * and waits five seconds for its first fetch.
 */
export async function commitOffset(
  group: string,
  topic: string,
  partition: number,
  offset: bigint,
  options: OnBroker = {},
): Promise<void> {
  const partitions = [{ partition, offset: offset.toString() }];
  const producer = kafkaClient(options).producer({
    idempotent: true,
    maxInFlightRequests: 1,
    transactionalId: uniqueName('testkit-group'),
  });
  await producer.connect();
  try {
    const transaction = await producer.transaction();
    await transaction.sendOffsets({ consumerGroupId: group, topics: [{ topic, partitions }] });
    await transaction.commit();
  } finally {
    await producer.disconnect();
  }
  await withAdmin(options, (admin) =>
    waitFor(`group ${group} at ${topic}/${partition}:${offset}`, async () => {
      const [found] = await admin.fetchOffsets({ groupId: group, topics: [topic] });
      return found?.partitions.some((each) => each.partition === partition && each.offset === String(offset));
    }),
  );
}

function untilReady(admin: Admin, topic: string, partitions: number): Promise<unknown> {
  return waitFor(`topic ${topic} to be ready`, () => isReady(admin, topic, partitions), {
    timeoutMs: TOPIC_READY_TIMEOUT_MS,
  });
}

/** Every partition has a leader, and the leader answers for it. */
async function isReady(admin: Admin, topic: string, partitions: number): Promise<boolean> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  const found = topics[0]?.partitions ?? [];
  if (found.length !== partitions || found.some(({ leader }) => leader < 0)) return false;
  return (await admin.fetchTopicOffsets(topic)).length === partitions;
}

/** A topic that is gone already is fine. */
export async function deleteTopic(name: string, options: OnBroker = {}): Promise<void> {
  await withAdmin(options, async (admin) => {
    const exists = (await admin.listTopics()).includes(name); // the client retries a missing one for seconds
    if (exists) await admin.deleteTopics({ topics: [name], timeout: TOPIC_REQUEST_TIMEOUT_MS });
  });
}

/** Moves the log start: everything below `offset` is gone for every reader. */
export async function deleteRecordsBefore(
  topic: string,
  partition: number,
  offset: bigint,
  options: OnBroker = {},
): Promise<void> {
  const partitions = [{ partition, offset: offset.toString() }];
  await withAdmin(options, async (admin) => {
    await admin.fetchTopicOffsets(topic); // loads the metadata that the next call takes for granted
    await admin.deleteTopicRecords({ topic, partitions });
  });
}

/** Sends the records of one partition in one request, which makes them one batch, and returns the offset of the first. */
export async function produce(
  topic: string,
  messages: readonly Message[],
  options: { partition?: number } & OnBroker = {},
): Promise<bigint> {
  const producer = kafkaClient(options).producer({ idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  try {
    const partition = options.partition ?? 0;
    const [answer] = await producer.send({ topic, messages: messages.map((message) => ({ partition, ...message })) });
    return BigInt(answer?.baseOffset ?? '-1');
  } finally {
    await producer.disconnect();
  }
}

/** Runs one transaction after the other on one producer; each ends as its `outcome` says. Resolves when their markers are in the log. */
export async function produceTransactions(
  topic: string,
  transactions: ReadonlyArray<{ outcome: 'commit' | 'abort'; messages: readonly Message[] }>,
  options: { partition?: number; producer?: ProducerConfig } & OnBroker = {},
): Promise<void> {
  const producer = kafkaClient(options).producer({
    idempotent: true,
    maxInFlightRequests: 1,
    transactionalId: uniqueName('testkit-tx'),
    transactionTimeout: TRANSACTION_TIMEOUT_MS,
    ...options.producer,
  });
  await producer.connect();
  const partition = options.partition ?? 0;
  try {
    let next = 0n;
    for (const { outcome, messages } of transactions) {
      const transaction = await producer.transaction();
      if (messages.length > 0) {
        const sent = await transaction.send({
          topic,
          messages: messages.map((message) => ({ partition, ...message })),
        });
        next = afterMarker(sent, messages.length);
      }
      await (outcome === 'commit' ? transaction.commit() : transaction.abort());
    }
    await stableUpTo(next, { ...options, topic, partition });
  } finally {
    await producer.disconnect();
  }
}

/** Where the log goes on behind a transaction whose last batch is `sent`. */
function afterMarker(sent: readonly RecordMetadata[], count: number): bigint {
  return BigInt(sent[0]?.baseOffset ?? '0') + BigInt(count) + 1n;
}

/** The broker answers the end of a transaction before its markers are written: what is looked up right after may lack them. */
async function stableUpTo(
  next: bigint,
  { topic, partition, ...options }: { topic: string; partition: number } & OnBroker,
): Promise<void> {
  await withAdmin(options, (admin) =>
    waitFor(`markers of ${topic} up to ${next}`, async () => {
      const offsets = await admin.fetchTopicOffsets(topic);
      // What this client calls high is the last stable offset.
      return BigInt(offsets.find((each) => each.partition === partition)?.high ?? '-1') >= next;
    }),
  );
}

/** `abort` and `commit` also close the producer, and resolve when the marker is in the log. */
export interface OpenTransaction {
  commit(): Promise<void>;
  abort(): Promise<void>;
}

/** Writes the records in a transaction that stays open until it is ended, once. */
export async function beginTransaction(
  topic: string,
  messages: readonly Message[],
  options: { partition?: number; producer?: ProducerConfig } & OnBroker = {},
): Promise<OpenTransaction> {
  const producer = kafkaClient(options).producer({
    idempotent: true,
    maxInFlightRequests: 1,
    transactionalId: uniqueName('testkit-open'),
    transactionTimeout: TRANSACTION_TIMEOUT_MS,
    ...options.producer,
  });
  await producer.connect();
  const transaction = await producer.transaction();
  const partition = options.partition ?? 0;
  const sent = await transaction.send({ topic, messages: messages.map((message) => ({ partition, ...message })) });
  const next = afterMarker(sent, messages.length);
  const endBy = async (outcome: 'commit' | 'abort'): Promise<void> => {
    try {
      await transaction[outcome]();
      await stableUpTo(next, { ...options, topic, partition });
    } finally {
      await producer.disconnect();
    }
  };
  return { commit: () => endBy('commit'), abort: () => endBy('abort') };
}

async function withAdmin<T>(options: OnBroker, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafkaClient(options).admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}
