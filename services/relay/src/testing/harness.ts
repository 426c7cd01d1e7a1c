/** A relay on the real services, with an outbox, a namespace and topics of its own. */
import type { Codec } from '@tidemark/contracts';
import { createCodec } from '@tidemark/contracts/registry';
import { jobTopics } from '@tidemark/jobs';
import type { LogCluster, LogRecord, OutgoingRecord, TransactionalWriter } from '@tidemark/log';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { positionTopicOf } from '@tidemark/outbox';
import { openPostgresOutbox, type Patience } from '@tidemark/outbox/postgres';
import { openTestOutbox, type TestOutbox } from '@tidemark/outbox/testing';
import {
  createTopic,
  deleteTopic,
  environmentOf,
  kafkaClient,
  type SpawnedProgram,
  services,
  spawnProgram,
  uniqueName,
  uniqueNamespace,
  waitFor,
} from '@tidemark/testkit';
import { onTestFinished } from 'vitest';
import { type Relay, type RelayOptions, startRelay } from '../relay.ts';
import { type Reach, withFailpoints } from './failpoints.ts';
import { readAll, type SentRecord } from './read-topic.ts';

export interface RelayTest {
  readonly outbox: TestOutbox;
  readonly namespace: string;
  readonly cluster: LogCluster;
  readonly codec: Codec;
  /** A topic of three partitions. */
  readonly topic: string;
  createTopic(options?: Parameters<typeof createTopic>[1]): Promise<string>;
  /** Another one of the same name, as another process would be. */
  startRelay(options?: TestRelayOptions): Promise<Relay>;
  /** Everything committed, partition by partition. */
  readAll(topic: string): Promise<readonly SentRecord[]>;
}

export interface TestRelayOptions extends Partial<RelayOptions> {
  /** Hears whenever it waits for a hint, and how long at most. */
  readonly onWait?: (ms: number) => void;
  /** Hears of every call to the outside. */
  readonly reach?: Reach;
  /** With its connections to the database. */
  readonly patience?: Patience;
  /** Where it finds the database; that of the test. */
  readonly postgres?: string;
  /** Where it finds the broker; that of the test. */
  readonly kafka?: string;
}

export async function openRelayTest(
  options: { readonly postgres?: string; readonly kafka?: string } = {},
): Promise<RelayTest> {
  const { postgres = services().postgres, kafka = services().kafka } = options;
  const namespace = uniqueNamespace('relay');
  const outbox = await openTestOutbox({ url: postgres, namespace });
  onTestFinished(() => outbox.drop());
  const cluster = createKafkaCluster({ brokers: [kafka], clientId: 'relay-test' });
  onTestFinished(() => cluster.close());
  const topics = Object.values(jobTopics(namespace)).concat(positionTopicOf(namespace));
  onTestFinished(async () => {
    // The broker of a test may be gone by now, and its topics with it.
    for (const topic of topics) await deleteTopic(topic, { kafka }).catch(() => {});
  });
  const codec = createCodec({ registryUrl: services().registry });
  const newTopic: RelayTest['createTopic'] = async (topicOptions = { partitions: 3 }) => {
    const name = uniqueName('events');
    topics.push(name);
    await createTopic(name, { kafka, ...topicOptions });
    return name;
  };
  let relays = 0;
  return {
    outbox,
    namespace,
    cluster,
    codec,
    topic: await newTopic(),
    createTopic: newTopic,
    async startRelay({
      onWait = () => {},
      reach,
      patience,
      postgres: ownPostgres,
      kafka: ownKafka,
      ...relayOptions
    } = {}) {
      relays += 1;
      const url = ownPostgres ?? postgres;
      const brokers = [ownKafka ?? kafka];
      const owner = `test ${relays}`;
      const opened = openPostgresOutbox({ url, namespace, relay: 'main', owner, ...(patience && { patience }) });
      const own = createKafkaCluster({ brokers, clientId: `relay-test-${relays}` });
      const close = () => Promise.all([opened.close(), own.close()]);
      try {
        const wait: typeof opened.hints.wait = (ms, signal) => {
          onWait(ms);
          return opened.hints.wait(ms, signal);
        };
        const real = { outbox: { ...opened, hints: { ...opened.hints, wait } }, cluster: own, codec };
        const ports = reach === undefined ? real : withFailpoints(real, reach);
        const relay = await startRelay({ ...ports, namespace, leaseTtlMs: 2_000, ...relayOptions });
        const closed = relay.ended.then(close, close);
        onTestFinished(async () => {
          await relay.stop('test finished');
          await closed;
        });
        return relay;
      } catch (error) {
        await close();
        throw error;
      }
    },
    readAll: (topic) => readAll(cluster, topic),
  };
}

/** The same cluster, but for what its transactional writers do when they are told to commit. Closing it is the caller's. */
export function withCommit(
  cluster: LogCluster,
  commit: (records: readonly OutgoingRecord[], writer: TransactionalWriter) => Promise<void>,
): LogCluster {
  return {
    catalog: cluster.catalog,
    openReader: () => cluster.openReader(),
    openWriter: () => cluster.openWriter(),
    async openTransactionalWriter(options) {
      const writer = await cluster.openTransactionalWriter(options);
      return {
        get usable() {
          return writer.usable;
        },
        close: () => writer.close(),
        commit: (records) => commit(records, writer),
      };
    },
    close: () => Promise.resolve(),
  };
}

/** How large a record the topic takes from now on. The answer comes before the broker goes by it, so that is waited for. */
export async function limitRecords(topic: string, bytes: number): Promise<void> {
  const [name, value] = ['max.message.bytes', String(bytes)];
  const admin = kafkaClient().admin();
  await admin.connect();
  try {
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: 2, name: topic, configEntries: [{ name, value }] }],
    });
    await waitFor(`${topic} to take ${bytes} bytes`, async () => {
      const asked = { includeSynonyms: false, resources: [{ type: 2, name: topic, configNames: [name] }] };
      const { resources } = await admin.describeConfigs(asked);
      return resources[0]?.configEntries[0]?.configValue === value;
    });
  } finally {
    await admin.disconnect();
  }
}

/** The relay as a process of its own, ended with the test. */
export function spawnRelay(namespace: string, settings: Readonly<Record<string, string>> = {}): SpawnedProgram {
  const env = { ...environmentOf(namespace), TIDEMARK_LEASE_TTL_MS: '1000', ...settings };
  const relay = spawnProgram({ script: 'services/relay/src/main.ts', env });
  onTestFinished(() => relay.kill('SIGKILL'));
  return relay;
}

/** The JSON text of a value without a schema of its own. */
export async function jsonOf(codec: Codec, record: LogRecord): Promise<string> {
  if (record.value === null) throw new Error('a tombstone has no value');
  const { value } = await codec.decode(record.value);
  if (typeof value !== 'object' || value === null || !('json' in value) || typeof value.json !== 'string') {
    throw new Error('not a JSON value');
  }
  return value.json;
}

/** The keys of everything committed, sorted. */
export async function keysIn(test: RelayTest, topic: string): Promise<readonly (string | undefined)[]> {
  return (await test.readAll(topic)).map((record) => record.key?.toString()).sort(byText);
}

/** Numbers counted per key (see the random writers), in the order of the log. */
export async function numbersByKey(
  codec: Codec,
  sent: readonly SentRecord[],
): Promise<ReadonlyMap<string, readonly number[]>> {
  const numbers = new Map<string, number[]>();
  for (const record of sent) {
    const { n } = JSON.parse(await jsonOf(codec, record)) as { n: number };
    const key = record.key?.toString() ?? '';
    numbers.set(key, [...(numbers.get(key) ?? []), n]);
  }
  return numbers;
}

/** 1, 2, 3 ... up to the count of each key. */
export function countedUp(counts: ReadonlyMap<string, number>): ReadonlyMap<string, readonly number[]> {
  const used = [...counts].filter(([, last]) => last > 0);
  return new Map(used.map(([key, last]) => [key, Array.from({ length: last }, (_, i) => i + 1)]));
}

export function byText(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
