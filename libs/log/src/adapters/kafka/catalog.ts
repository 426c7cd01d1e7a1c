/** Metadata and offsets on the protocol layer; changes through kafkajs. */
import { ErrorClass, type Offset, sleep, TidemarkError } from '@tidemark/keyspace';
import { FETCH_ATTEMPTS_MAX, TOPIC_CREATION_POLL_MS, TOPIC_CREATION_WAIT_MS } from '../../limits.ts';
import type { TopicFacts } from '../../outgoing.ts';
import type { LogCatalog, LogDisk, PartitionOffsets, Source, TopicDescription, TopicSpec } from '../../ports.ts';
import { backOff } from './backoff.ts';
import type { BrokerConnections } from './connections.ts';
import { asUnavailable, configError, topicNotFound, topicRecreated, unavailable } from './errors.ts';
import { listOffsets, listOffsetsAt } from './partition-offsets.ts';
import type { TopicAdmin } from './topic-admin.ts';
import { fetchTopicMetadata, type PartitionLeader, type TopicMetadata } from './topic-metadata.ts';
import type { KafkaTransactions } from './transactions.ts';
import { changeSettingsOf, committedOffsetsOf, disksUnder } from './upkeep.ts';

const MESSAGE_BYTES_MAX = 'max.message.bytes';

export class KafkaCatalog implements LogCatalog {
  readonly #connections: BrokerConnections;
  readonly #admin: TopicAdmin;
  readonly transactions: KafkaTransactions;

  constructor(connections: BrokerConnections, admin: TopicAdmin, transactions: KafkaTransactions) {
    this.#connections = connections;
    this.#admin = admin;
    this.transactions = transactions;
  }

  async describe(topic: string): Promise<TopicDescription | undefined> {
    const found = await this.#patiently(`describing topic ${topic}`, () =>
      fetchTopicMetadata(this.#connections, topic),
    );
    return found === undefined ? undefined : descriptionOf(found);
  }

  offsets(topic: TopicDescription): Promise<readonly PartitionOffsets[]> {
    return this.#ofTopic(topic, (leaders) => listOffsets(this.#connections, topic.topic, leaders));
  }

  offsetsAt(topic: TopicDescription, timestampMs: bigint): Promise<readonly (Offset | undefined)[]> {
    return this.#ofTopic(topic, (leaders) =>
      listOffsetsAt(this.#connections, { topic: topic.topic, timestampMs }, leaders),
    );
  }

  async ensure(spec: TopicSpec): Promise<TopicDescription> {
    const existing = await this.describe(spec.topic);
    if (existing === undefined) await this.#admin.create(spec);
    const description = existing ?? (await this.#appeared(spec));
    await this.#verify(spec, description);
    return description;
  }

  async settings(topic: string, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if ((await this.describe(topic)) === undefined) throw topicNotFound(topic);
    return this.#admin.configsOf(topic, names);
  }

  async deleteRecordsBefore(source: Source, offset: Offset): Promise<void> {
    const found = await this.describe(source.topic);
    if (found === undefined) throw topicNotFound(source.topic);
    if (found.topicId !== source.topicId)
      throw topicRecreated(source.topic, { expected: source.topicId, actual: found.topicId });
    await this.#admin.deleteRecordsBefore(source, offset);
  }

  async changeSettings(topic: string, settings: Readonly<Record<string, string>>): Promise<void> {
    await this.#patiently(`changing the settings of topic ${topic}`, () =>
      changeSettingsOf(this.#connections, topic, settings),
    );
  }

  committedOffsets(group: string, topic: TopicDescription): Promise<readonly (Offset | undefined)[]> {
    return this.#patiently(`reading the committed offsets of group ${group}`, () =>
      committedOffsetsOf(this.#connections, group, topic),
    );
  }

  disks(topics: readonly TopicDescription[]): Promise<readonly LogDisk[]> {
    return this.#patiently('asking for the disks under the logs', () => disksUnder(this.#connections, topics));
  }

  /** What writers must know; throws TOPIC_NOT_FOUND. */
  async factsOf(topic: string): Promise<TopicFacts> {
    const found = await this.describe(topic);
    if (found === undefined) throw topicNotFound(topic);
    const messageBytesMax = Number((await this.#admin.configsOf(topic, [MESSAGE_BYTES_MAX])).get(MESSAGE_BYTES_MAX));
    if (!(messageBytesMax > 0)) throw unavailable(`the broker does not tell ${MESSAGE_BYTES_MAX} of topic "${topic}"`);
    return { partitionCount: found.partitionCount, messageBytesMax };
  }

  async close(): Promise<void> {
    await Promise.all([this.#connections.close(), this.#admin.close(), this.transactions.close()]);
  }

  /** The described partitions of the described incarnation, also if the topic has grown since. */
  #ofTopic<T>(topic: TopicDescription, ask: (leaders: readonly PartitionLeader[]) => Promise<T>): Promise<T> {
    return this.#patiently(`reading offsets of topic ${topic.topic}`, async () => {
      const before = await this.#sameTopic(topic);
      const answer = await ask(before.leaders.filter((leader) => leader.partition < topic.partitionCount));
      // ListOffsets goes by name: only the same id before and after proves that the answer is about this incarnation.
      await this.#sameTopic(topic);
      return answer;
    });
  }

  async #sameTopic({ topic, topicId }: TopicDescription): Promise<TopicMetadata> {
    const found = await fetchTopicMetadata(this.#connections, topic);
    if (found === undefined) throw topicNotFound(topic);
    if (found.topicId !== topicId) throw topicRecreated(topic, { expected: topicId, actual: found.topicId });
    return found;
  }

  async #appeared(spec: TopicSpec): Promise<TopicDescription> {
    const deadlineMs = performance.now() + TOPIC_CREATION_WAIT_MS;
    for (;;) {
      const isLast = performance.now() > deadlineMs;
      const found = await this.#patiently(`describing topic ${spec.topic}`, () =>
        fetchTopicMetadata(this.#connections, spec.topic),
      );
      if (found?.leaders.every(({ broker }) => broker !== undefined)) return descriptionOf(found);
      if (isLast)
        throw unavailable(`topic "${spec.topic}" was created but has no leaders after ${TOPIC_CREATION_WAIT_MS} ms`);
      await sleep(TOPIC_CREATION_POLL_MS);
    }
  }

  async #verify(spec: TopicSpec, found: TopicDescription): Promise<void> {
    const actual = await this.#admin.configsOf(spec.topic, Object.keys(spec.configs));
    const faults = Object.entries(spec.configs)
      .filter(([name, wanted]) => !isSameSetting(wanted, actual.get(name)))
      .map(([name, wanted]) => `${name} is ${actual.get(name) ?? 'not set'}, not ${wanted}`);
    if (found.partitionCount !== spec.partitionCount) {
      faults.unshift(`it has ${found.partitionCount} partitions, not ${spec.partitionCount}`);
    }
    if (faults.length > 0)
      throw configError('TOPIC_MISMATCH', `topic "${spec.topic}" is not as it must be: ${faults.join('; ')}`, {
        topic: spec.topic,
      });
  }

  /** A missing or other topic is an answer, anything `unavailable` is tried again, a bounded number of times. */
  async #patiently<T>(doing: string, ask: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await ask();
      } catch (error) {
        const verdict =
          error instanceof TidemarkError &&
          (error.class !== ErrorClass.unavailable || error.code === 'TOPIC_NOT_FOUND');
        if (verdict || attempt + 1 >= FETCH_ATTEMPTS_MAX) throw asUnavailable(error, doing);
        await this.#connections.dropAll();
        await backOff(attempt);
      }
    }
  }
}

function descriptionOf({ topic, topicId, partitionCount }: TopicMetadata): TopicDescription {
  return { topic, topicId, partitionCount };
}

/** Lists (`cleanup.policy=compact,delete`) have no order. */
function isSameSetting(wanted: string, actual: string | undefined): boolean {
  const canonical = (text: string): string =>
    text
      .split(',')
      .map((part) => part.trim())
      .sort()
      .join(',');
  return actual !== undefined && canonical(wanted) === canonical(actual);
}
