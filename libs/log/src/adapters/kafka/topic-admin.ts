/** Creating topics, their settings, and deleting records: the administrative half, on kafkajs. */

import type { Offset } from '@tidemark/keyspace';
import type { Admin, Kafka } from 'kafkajs';
import { TOPIC_CREATION_WAIT_MS } from '../../limits.ts';
import type { Source, TopicSpec } from '../../ports.ts';
import { configError } from './errors.ts';
import { producerError } from './producer-errors.ts';

/** Kafka's number for the settings of a topic (protocol guide, DescribeConfigs). */
const TOPIC_RESOURCE = 2;

export class TopicAdmin {
  readonly #kafka: () => Promise<Kafka>;
  #admin: Promise<Admin> | undefined;

  constructor(kafka: () => Promise<Kafka>) {
    this.#kafka = kafka;
  }

  /** False when it was there already. */
  create(spec: TopicSpec): Promise<boolean> {
    const { topic, partitionCount, replicationFactor } = spec;
    const configEntries = Object.entries(spec.configs).map(([name, value]) => ({ name, value }));
    const wanted = { topic, numPartitions: partitionCount, replicationFactor, configEntries };
    return this.#with(`creating topic ${topic}`, (admin) =>
      admin.createTopics({ topics: [wanted], waitForLeaders: false, timeout: TOPIC_CREATION_WAIT_MS }),
    );
  }

  /** The effective values, whether set on the topic or inherited. */
  async configsOf(topic: string, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (names.length === 0) return new Map();
    const resource = { type: TOPIC_RESOURCE, name: topic, configNames: [...names] };
    const answer = await this.#with(`reading the settings of topic ${topic}`, (admin) => {
      return admin.describeConfigs({ resources: [resource], includeSynonyms: false });
    });
    return new Map(answer.resources[0]?.configEntries.map((entry) => [entry.configName, entry.configValue]));
  }

  async deleteRecordsBefore(source: Source, offset: Offset): Promise<void> {
    // Kafka reads -1 as "everything up to the high watermark", and zero does nothing.
    if (offset <= 0n)
      throw configError('OFFSET_INVALID', `records are deleted below a positive offset, not below ${offset}`);
    const { topic, partition } = source;
    await this.#with(`deleting records of ${topic}/${partition}`, async (admin) => {
      await admin.fetchTopicOffsets(topic); // loads the metadata that the next call takes for granted
      await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: offset.toString() }] });
    });
  }

  async close(): Promise<void> {
    const admin = this.#admin;
    this.#admin = undefined;
    await admin?.then((connected) => connected.disconnect()).catch(() => undefined);
  }

  async #with<T>(doing: string, work: (admin: Admin) => Promise<T>): Promise<T> {
    try {
      this.#admin ??= this.#connect();
      return await work(await this.#admin);
    } catch (error) {
      await this.close();
      throw producerError(error, doing);
    }
  }

  async #connect(): Promise<Admin> {
    const admin = (await this.#kafka()).admin();
    await admin.connect();
    return admin;
  }
}
