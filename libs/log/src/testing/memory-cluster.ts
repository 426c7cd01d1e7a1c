/**
 * A LogCluster in memory, for tests of everything that stands on the log. It passes the same contract suite as the real
 * broker. What it does not do: replication, members of groups, batches (each record is alone), retention by time, and a broker's delays.
 */
import { ErrorClass, type Offset, TidemarkError } from '@tidemark/keyspace';
import { placeRecord, type TopicFacts } from '../outgoing.ts';
import type {
  LogCatalog,
  LogCluster,
  LogDisk,
  LogRecord,
  LogWriter,
  OutgoingRecord,
  TopicDescription,
  TopicSpec,
  TransactionalProducer,
  TransactionalWriter,
} from '../ports.ts';
import { MemoryFaults } from './memory-faults.ts';
import type { MemoryLog, MemoryTopic } from './memory-log.ts';
import { MemoryPartition, type MemoryTransaction } from './memory-partition.ts';
import { MemoryReader } from './memory-reader.ts';
import { MemoryTransactionalWriter } from './memory-transactional-writer.ts';
import { MemoryTransactions } from './memory-transactions.ts';
import { MemoryUpkeep } from './memory-upkeep.ts';

const MESSAGE_BYTES_MAX = 1_048_588; // The broker's default.

/** A transaction that a test drives by hand: several may interleave, and one may stay open. */
export interface OpenTransaction {
  append(records: readonly OutgoingRecord[]): readonly Offset[];
  commit(): void;
  abort(): void;
}

export interface MemoryClusterOptions {
  readonly now?: () => bigint;
}

export interface MemoryCluster extends LogCluster {
  /** Makes calls fail. */
  readonly faults: MemoryFaults;
  createTopic(
    topic: string,
    options?: { readonly partitionCount?: number; readonly configs?: Readonly<Record<string, string>> },
  ): TopicDescription;
  deleteTopic(topic: string): void;
  /** Deletes and creates it: empty, with another id. */
  recreateTopic(topic: string): TopicDescription;
  addPartitions(topic: string, partitionCount: number): void;
  begin(): OpenTransaction;
  /** As the newest session of the id wrote them, in a transaction that its coordinator has forgotten: open everywhere. */
  hang(transactionalId: string, records: readonly OutgoingRecord[]): void;
  /** Without `keep`: the last record of each key stays. */
  compact(topic: string, partition: number, keep?: (record: LogRecord) => boolean): void;
  /** The log as a restored backup leaves it. */
  truncate(topic: string, partition: number, highWatermark: bigint): void;
  /** As a consumer group that goes on at the offset. */
  commitOffset(group: string, topic: string, partition: number, offset: bigint): void;
  /** What the brokers tell of their disks from now on. */
  setDisks(disks: readonly LogDisk[]): void;
  /** An entry that no reader can decode. */
  appendDamaged(topic: string, partition: number, message: string): Offset;
}

export function createMemoryCluster(options: MemoryClusterOptions = {}): MemoryCluster {
  return new Cluster(options.now ?? (() => BigInt(Date.now())));
}

class Cluster implements MemoryCluster, MemoryLog {
  readonly faults = new MemoryFaults();
  readonly #now: () => bigint;
  readonly #topics = new Map<string, MemoryTopic>();
  readonly #sessions = new Map<string, TransactionalProducer>();
  /** By transactional id, how the transaction that is open ends. */
  readonly #open = new Map<string, () => void>();
  #producers = 0n;
  readonly #waiters = new Set<() => void>();
  readonly #upkeep = new MemoryUpkeep();
  #topicsCreated = 0;

  constructor(now: () => bigint) {
    this.#now = now;
  }

  readonly catalog: LogCatalog = {
    describe: async (topic) => {
      this.faults.check('describe');
      const found = this.#topics.get(topic);
      return found === undefined ? undefined : describe(found);
    },
    offsets: async (topic) => {
      this.faults.check('offsets');
      return this.#same(topic)
        .partitions.slice(0, topic.partitionCount)
        .map((partition, index) => partition.offsets(index));
    },
    offsetsAt: async (topic, timestampMs) => {
      this.faults.check('offsets');
      return this.#same(topic)
        .partitions.slice(0, topic.partitionCount)
        .map((partition) => partition.firstOffsetAt(timestampMs));
    },
    ensure: async (spec) => {
      this.faults.check('ensure');
      const found = this.#topics.get(spec.topic);
      if (found === undefined) return describe(this.#create(spec));
      verify(spec, found.spec);
      return describe(found);
    },
    settings: async (topic, names) => {
      this.faults.check('describe');
      const { configs } = this.#known(topic).spec;
      return new Map(names.flatMap((name) => settingOf(name, configs[name])));
    },
    changeSettings: async (topic, settings) => {
      this.faults.check('changeSettings');
      const known = this.#known(topic);
      const configs = { ...known.spec.configs, ...settings };
      this.#topics.set(topic, { ...known, spec: { ...known.spec, configs } });
    },
    committedOffsets: async (group, topic) => {
      this.faults.check('committedOffsets');
      const { topicId } = this.#same(topic);
      return Array.from({ length: topic.partitionCount }, (_, partition) =>
        this.#upkeep.committed(group, { topicId, partition }),
      );
    },
    disks: async (topics) => {
      this.faults.check('disks');
      const asked = new Set(topics.map(({ topic }) => topic));
      return this.#upkeep.disks.filter(({ logs }) => logs.some(({ topic }) => asked.has(topic)));
    },
    deleteRecordsBefore: async (source, offset) => {
      this.faults.check('deleteRecords');
      if (offset <= 0n)
        throw failure(
          'OFFSET_INVALID',
          ErrorClass.config,
          `records are deleted below a positive offset, not below ${offset}`,
        );
      this.#same(source).partitions[source.partition]?.deleteBefore(offset);
    },
    transactions: new MemoryTransactions(this),
    close: async () => undefined,
  };

  openReader(): MemoryReader {
    return new MemoryReader(this);
  }

  async openWriter(): Promise<LogWriter> {
    this.faults.check('openWriter');
    return {
      append: async (records) => {
        this.faults.check('append');
        const appended = this.append(records);
        this.faults.check('append', 'after');
        return appended;
      },
      close: async () => undefined,
    };
  }

  async openTransactionalWriter(options: { readonly transactionalId: string }): Promise<TransactionalWriter> {
    this.faults.check('openTransactionalWriter');
    return new MemoryTransactionalWriter(this, options.transactionalId);
  }

  async close(): Promise<void> {
    this.#notify();
  }

  topic(name: string): MemoryTopic | undefined {
    return this.#topics.get(name);
  }

  createTopic(
    topic: string,
    options: { readonly partitionCount?: number; readonly configs?: Readonly<Record<string, string>> } = {},
  ): TopicDescription {
    return describe(
      this.#create({
        topic,
        partitionCount: options.partitionCount ?? 1,
        replicationFactor: 1,
        configs: options.configs ?? {},
      }),
    );
  }

  deleteTopic(topic: string): void {
    this.#topics.delete(topic);
    this.#notify();
  }

  recreateTopic(topic: string): TopicDescription {
    const { spec } = this.#known(topic);
    this.#topics.delete(topic);
    return describe(this.#create(spec));
  }

  addPartitions(topic: string, partitionCount: number): void {
    const { partitions } = this.#known(topic);
    while (partitions.length < partitionCount) partitions.push(new MemoryPartition());
  }

  begin(): OpenTransaction {
    const transaction: MemoryTransaction = { ...this.#newProducer(), outcome: 'open' };
    const touched = new Set<MemoryPartition>();
    return {
      append: (records) => {
        const appended = this.append(records, transaction);
        for (const { topic, partition } of appended) touched.add(this.#partition(topic, partition));
        return appended.map(({ offset }) => offset);
      },
      commit: () => this.endTransaction(transaction, 'committed', touched),
      abort: () => this.endTransaction(transaction, 'aborted', touched),
    };
  }

  hang(transactionalId: string, records: readonly OutgoingRecord[]): void {
    const producer = this.#sessions.get(transactionalId);
    if (producer === undefined) throw new Error(`nobody has opened a session of ${transactionalId}`);
    const placed = records.map((record) => placeRecord(record, factsOf(this.#known(record.topic))));
    const byPartition = Map.groupBy(placed, ({ record, partition }) => `${partition}:${record.topic}`);
    for (const group of byPartition.values()) {
      this.append(
        group.map(({ record, partition }) => ({ ...record, partition })),
        { ...producer, outcome: 'open' },
      );
    }
  }

  compact(topic: string, partition: number, keep?: (record: LogRecord) => boolean): void {
    const log = this.#partition(topic, partition);
    if (keep === undefined) log.compactByKey();
    else log.compact(keep);
  }

  truncate(topic: string, partition: number, highWatermark: bigint): void {
    this.#partition(topic, partition).truncateTo(highWatermark);
  }

  commitOffset(group: string, topic: string, partition: number, offset: bigint): void {
    this.#upkeep.commit(group, { topicId: this.#known(topic).topicId, partition }, offset);
  }

  setDisks(disks: readonly LogDisk[]): void {
    this.#upkeep.disks = disks;
  }

  appendDamaged(topic: string, partition: number, message: string): Offset {
    const offset = this.#partition(topic, partition).appendDamaged(message);
    this.#notify();
    return offset;
  }

  append(records: readonly OutgoingRecord[], transaction?: MemoryTransaction) {
    const context = transaction === undefined ? { nowMs: this.#now() } : { nowMs: this.#now(), transaction };
    const placed = records.map((record) => placeRecord(record, factsOf(this.#known(record.topic))));
    const appended = placed.map(({ record, partition }) => {
      return {
        topic: record.topic,
        partition,
        offset: this.#partition(record.topic, partition).append(record, context),
      };
    });
    this.#notify();
    return appended;
  }

  endTransaction(
    transaction: MemoryTransaction,
    outcome: 'committed' | 'aborted',
    touched: Iterable<MemoryPartition>,
  ): void {
    if (transaction.outcome !== 'open') throw new Error(`the transaction is ${transaction.outcome} already`);
    transaction.outcome = outcome;
    for (const partition of touched) partition.appendMarker(transaction);
    this.#notify();
  }

  changed(waitMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(done);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, waitMs);
      this.#waiters.add(done);
      signal?.addEventListener('abort', done);
    });
  }

  openSession(transactionalId: string): TransactionalProducer {
    this.#open.get(transactionalId)?.();
    const before = this.#sessions.get(transactionalId);
    const session = before === undefined ? this.#newProducer() : { ...before, producerEpoch: before.producerEpoch + 1 };
    this.#sessions.set(transactionalId, session);
    return session;
  }

  whenFenced(transactionalId: string, abort: () => void): () => void {
    this.#open.set(transactionalId, abort);
    return () => {
      if (this.#open.get(transactionalId) === abort) this.#open.delete(transactionalId);
    };
  }

  isCurrentSession(transactionalId: string, session: TransactionalProducer): boolean {
    return this.#sessions.get(transactionalId) === session;
  }

  producerOf(transactionalId: string): TransactionalProducer | undefined {
    return this.#sessions.get(transactionalId);
  }

  #newProducer(): TransactionalProducer {
    this.#producers += 1n;
    return { producerId: this.#producers, producerEpoch: 0 };
  }

  #create(spec: TopicSpec): MemoryTopic {
    if (this.#topics.has(spec.topic)) throw new Error(`topic ${spec.topic} exists`);
    this.#topicsCreated += 1;
    const topicId = `00000000-0000-4000-8000-${this.#topicsCreated.toString(16).padStart(12, '0')}`;
    const partitions = Array.from({ length: spec.partitionCount }, () => new MemoryPartition());
    const topic = { spec, topicId, partitions };
    this.#topics.set(spec.topic, topic);
    return topic;
  }

  #known(topic: string): MemoryTopic {
    const found = this.#topics.get(topic);
    if (found === undefined)
      throw failure(
        'TOPIC_NOT_FOUND',
        ErrorClass.unavailable,
        `topic "${topic}" does not exist; it is never created on the way`,
      );
    return found;
  }

  #same({ topic, topicId }: { readonly topic: string; readonly topicId: string }): MemoryTopic {
    const found = this.#known(topic);
    if (found.topicId !== topicId)
      throw failure('TOPIC_RECREATED', ErrorClass.lost, `topic "${topic}" was deleted and created again`);
    return found;
  }

  #partition(topic: string, partition: number): MemoryPartition {
    const found = this.#known(topic).partitions[partition];
    if (found === undefined) throw new RangeError(`topic ${topic} has no partition ${partition}`);
    return found;
  }

  #notify(): void {
    for (const waiter of [...this.#waiters]) waiter();
  }
}

function describe({ spec, topicId, partitions }: MemoryTopic): TopicDescription {
  return { topic: spec.topic, topicId, partitionCount: partitions.length };
}

function factsOf({ spec, partitions }: MemoryTopic): TopicFacts {
  return {
    partitionCount: partitions.length,
    messageBytesMax: Number(spec.configs['max.message.bytes'] ?? MESSAGE_BYTES_MAX),
  };
}

/** What a broker with its usual defaults answers for a setting that is not on the topic. */
const INHERITED: Readonly<Record<string, string>> = {
  'cleanup.policy': 'delete',
  'retention.ms': '604800000',
  'retention.bytes': '-1',
};

function settingOf(name: string, own: string | undefined): readonly (readonly [string, string])[] {
  const value = own ?? INHERITED[name];
  return value === undefined ? [] : [[name, value]];
}

function verify(wanted: TopicSpec, actual: TopicSpec): void {
  const faults = Object.entries(wanted.configs)
    .filter(([name, value]) => actual.configs[name] !== value)
    .map(([name]) => name);
  if (wanted.partitionCount !== actual.partitionCount) faults.push('partitions');
  if (faults.length > 0)
    throw failure(
      'TOPIC_MISMATCH',
      ErrorClass.config,
      `topic "${wanted.topic}" is not as it must be: ${faults.join(', ')}`,
    );
}

function failure(code: string, errorClass: ErrorClass, message: string): TidemarkError {
  return new TidemarkError({ code, class: errorClass, message });
}
