/**
 * What the rest of the project knows of Kafka. No client type shows here; offsets are bigint; the words are Kafka's.
 *
 * An adapter's duties: read-committed reading with exact account of every offset (a record, or a hole of a named kind),
 * no silent reset of any position ever, and never creating a topic that it was not told to create.
 */
import type { Offset, Window } from '@tidemark/keyspace';

export type Bytes = Buffer;

/** Header order and repeated names are kept; a value may be null. */
export type RecordHeaders = readonly (readonly [name: string, value: Bytes | null])[];

export interface LogRecord {
  readonly offset: Offset;
  readonly timestampMs: bigint;
  readonly key: Bytes | null;
  readonly value: Bytes | null;
  readonly headers: RecordHeaders;
}

/** One partition of one incarnation of a topic: a recreated topic has another topic id and is another source. */
export interface Source {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
}

export const HoleKind = {
  /** A control record, or data of an aborted transaction. */
  marker: 'marker',
  /** No batch holds the offset any more (or the batch kept its place without the record): compaction took it. */
  compacted: 'compacted',
} as const;
export type HoleKind = (typeof HoleKind)[keyof typeof HoleKind];

/** Offsets, both included, at which no record will ever be delivered. Holes are not loss. */
export interface Hole {
  readonly first: Offset;
  readonly last: Offset;
  readonly kind: HoleKind;
}

/**
 * What one cursor move may cover: every offset of `(start, end]` is either in `records` or in `holes`, so
 * `end - start = records.length + sum of hole lengths`. Records and holes are in offset order. `records` may be empty.
 */
export interface Chunk extends Window {
  readonly records: readonly LogRecord[];
  readonly holes: readonly Hole[];
  /** Sum of key, value and header bytes. */
  readonly bytes: number;
}

export interface ReadRequest {
  readonly source: Source;
  /** The last offset that is settled: reading begins at the next one. */
  readonly cursor: Offset;
  /** Nothing above it is delivered. The chunk ends at exactly `end` when only holes are left below it. */
  readonly end: Offset;
  readonly recordsMax: number;
  /** Soft: one record alone may be larger (it then makes a chunk of its own). */
  readonly bytesMax: number;
  /** How long the broker may hold an empty answer back. */
  readonly waitMs: number;
  readonly signal?: AbortSignal;
}

export type ReadAnswer =
  | { readonly kind: 'chunk'; readonly chunk: Chunk }
  /** An open transaction holds the last stable offset at or below the next offset, which the high watermark has passed. */
  | { readonly kind: 'open transaction'; readonly lastStableOffset: Offset; readonly highWatermark: Offset }
  /** The next offset is the high watermark: nothing was written there yet. */
  | { readonly kind: 'end of log'; readonly highWatermark: Offset }
  /** The log start has passed the next offset: `[first, last]` (clipped to the asked end) can never be read. */
  | { readonly kind: 'lost'; readonly first: Offset; readonly last: Offset; readonly logStartOffset: Offset }
  /** The high watermark is below the next offset: the log is shorter than it was. */
  | { readonly kind: 'log went back'; readonly highWatermark: Offset }
  | { readonly kind: 'topic missing' }
  | { readonly kind: 'topic recreated'; readonly topicId: string }
  /** The batch at this place cannot be decoded (unknown codec, bad checksum, unknown format). */
  | { readonly kind: 'unreadable'; readonly offset: Offset; readonly message: string };

/**
 * Reads bounded chunks, read-committed. One reader serves one slot (a waiting fetch blocks its connection); it is not
 * shared. It may keep what the broker sent beyond the last chunk, so reading on where the last chunk ended is cheap.
 * Throws TidemarkError `unavailable` when the broker cannot be reached after its bounded retries, or when aborted.
 */
export interface LogReader {
  read(request: ReadRequest): Promise<ReadAnswer>;
  close(): Promise<void>;
}

export interface TopicDescription {
  readonly topic: string;
  readonly topicId: string;
  readonly partitionCount: number;
}

export interface PartitionOffsets {
  readonly partition: number;
  readonly logStartOffset: Offset;
  readonly lastStableOffset: Offset;
  /** The next offset to be written (ListOffsets, read-uncommitted). */
  readonly highWatermark: Offset;
}

export interface PartitionName {
  readonly topic: string;
  readonly partition: number;
}

/** A transaction that is open in one partition, whosever it is and whatever its coordinator thinks of it. */
export interface OngoingTransaction extends PartitionName {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  /** Of the newest marker of this producer here; -1 when there is none. */
  readonly coordinatorEpoch: number;
  /** Where it begins in this partition. */
  readonly firstOffset: Offset;
}

export type TransactionOutcome = 'commit' | 'abort';

/** What stands in a log, committed or not. */
export type LogEntry = { readonly producerId: bigint; readonly producerEpoch: number } & (
  | { readonly kind: 'data'; readonly transactional: boolean; readonly records: readonly LogRecord[] }
  | { readonly kind: 'marker'; readonly offset: Offset; readonly outcome: TransactionOutcome }
);

/** Who writes under a transactional id at the moment. */
export interface TransactionalProducer {
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

/**
 * Looking behind the last stable offset, and ending there what its coordinator has forgotten (KIP-664). Throws
 * `config` TRANSACTIONS_FORBIDDEN where a right is missing: READ of the topics to look, ClusterAction to end.
 */
export interface LogTransactions {
  /** As the leaders see it now. Partitions that do not exist are left out. */
  ongoing(partitions: readonly PartitionName[]): Promise<readonly OngoingTransaction[]>;
  /** Undefined when the coordinator knows no such id. */
  producerOf(transactionalId: string): Promise<TransactionalProducer | undefined>;
  /** Everything from the offset on up to the high watermark of the first call, read uncommitted. */
  entries(source: Source, from: Offset): AsyncIterable<LogEntry>;
  /** Writes the marker, past the coordinator. Only for a transaction of which nothing can be written any more. */
  end(transaction: OngoingTransaction, outcome: TransactionOutcome): Promise<void>;
}

export interface TopicSpec {
  readonly topic: string;
  readonly partitionCount: number;
  readonly replicationFactor: number;
  readonly configs: Readonly<Record<string, string>>;
}

/** A directory of a broker: usually one disk. */
export interface LogDisk {
  readonly broker: number;
  readonly directory: string;
  readonly totalBytes: bigint;
  /** What is left on it, whoever uses the rest. */
  readonly usableBytes: bigint;
  /** Of the topics that were asked for: whole segments as they lie there, compressed, replicas too. */
  readonly logs: readonly (PartitionName & { readonly bytes: bigint })[];
}

/** Metadata and offsets. Asking never creates a topic. Throws TidemarkError `unavailable` when no broker answers. */
export interface LogCatalog {
  describe(topic: string): Promise<TopicDescription | undefined>;
  /** One entry a partition, by partition number. */
  offsets(topic: TopicDescription): Promise<readonly PartitionOffsets[]>;
  /** Per partition the first offset whose timestamp is >= the instant; undefined where there is none. */
  offsetsAt(topic: TopicDescription, timestampMs: bigint): Promise<readonly (Offset | undefined)[]>;
  /** Creates the topic, or checks that the existing one has the wanted partitions and settings (TidemarkError `config`). */
  ensure(spec: TopicSpec): Promise<TopicDescription>;
  /** Effective settings of a topic, whether set on it or inherited; a name that the broker does not know is left out. */
  settings(topic: string, names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Sets these and leaves the others as they are (KIP-339). TidemarkError `config` when the broker refuses a value. */
  changeSettings(topic: string, settings: Readonly<Record<string, string>>): Promise<void>;
  /**
   * By partition, where a consumer group goes on; undefined where it has committed nothing, also for a group that nobody
   * has ever heard of. TidemarkError `config` KAFKA_FORBIDDEN where the right is missing.
   */
  committedOffsets(group: string, topic: TopicDescription): Promise<readonly (Offset | undefined)[]>;
  /** The directories that hold something of the topics, on every broker (KIP-827). Brokers that cannot tell are left out. */
  disks(topics: readonly TopicDescription[]): Promise<readonly LogDisk[]>;
  /** Removes records below the offset (DeleteRecords); the offset must be positive. */
  deleteRecordsBefore(source: Source, offset: Offset): Promise<void>;
  readonly transactions: LogTransactions;
  close(): Promise<void>;
}

export interface OutgoingRecord {
  readonly topic: string;
  /** Without it: the partition of the key as the Java client computes it. A null key then needs a partition. */
  readonly partition?: number;
  readonly key: Bytes | null;
  readonly value: Bytes | null;
  readonly headers?: RecordHeaders;
  readonly timestampMs?: bigint;
}

export interface AppendedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: Offset;
}

/** Idempotent, acks=all. Resolves when every record is acknowledged; an unsendable record is a TidemarkError `data`. */
export interface LogWriter {
  /** Offsets in the order of the given records. */
  append(records: readonly OutgoingRecord[]): Promise<readonly AppendedRecord[]>;
  close(): Promise<void>;
}

/** `written` are the places of the records, in their order. */
export type Behind = (written: readonly AppendedRecord[]) => Promise<readonly OutgoingRecord[]>;

/**
 * A producer session with a transactional id. Opening it fences every older session of that id before it returns.
 * All records of one `commit` become visible together or not at all. After any error the session is dead
 * (`usable` is false) and the outcome of that commit is unknown: open a new session and re-read your position.
 * Errors: TidemarkError `fenced` (a newer session exists), `data` (a record the broker refuses), `unavailable`.
 */
export interface TransactionalWriter {
  readonly usable: boolean;
  /**
   * `behind` is asked when every record has its place and nothing of them can be seen yet: whatever will ever lie before them in
   * their partitions is there, and what it answers is written behind them, in the same transaction. When it throws, that is
   * thrown, and the transaction is aborted. Until it answers, readers of those partitions wait: it should be quick.
   */
  commit(records: readonly OutgoingRecord[], behind?: Behind): Promise<void>;
  close(): Promise<void>;
}

/** One cluster. The factory of everything above; the Kafka adapter and the in-memory log both are one. */
export interface LogCluster {
  readonly catalog: LogCatalog;
  openReader(): LogReader;
  openWriter(): Promise<LogWriter>;
  openTransactionalWriter(options: { readonly transactionalId: string }): Promise<TransactionalWriter>;
  close(): Promise<void>;
}
