/**
 * Reading our own topics whole: everything committed up to the high watermark of one instant, and then what follows.
 * Whoever keeps its state in a compacted topic scans it at start and follows from the position that the scan returns.
 */
import {
  assertNever,
  BEFORE_FIRST,
  cursorBefore,
  ErrorClass,
  type Offset,
  offsetMax,
  TidemarkError,
} from '@tidemark/keyspace';
import {
  FOLLOW_WAIT_MS,
  NO_END,
  SCAN_CHUNK_BYTES,
  SCAN_CHUNK_RECORDS,
  SCAN_OPEN_TRANSACTION_WAIT_MS,
  SCAN_WAIT_MS,
} from './limits.ts';
import {
  type Hole,
  HoleKind,
  type LogCluster,
  type LogReader,
  type LogRecord,
  type PartitionOffsets,
  type ReadAnswer,
  type Source,
  type TopicDescription,
} from './ports.ts';
import { describeReadRefusal, type ReadRefusal } from './read-refusal.ts';

/** Per partition the last offset that was seen. */
export interface TopicPosition {
  readonly topic: TopicDescription;
  readonly cursors: readonly Offset[];
}

type Visit = (record: LogRecord, partition: number) => void | Promise<void>;

export interface ScanOptions {
  readonly cluster: Pick<LogCluster, 'catalog' | 'openReader'>;
  readonly topic: TopicDescription;
  readonly visit: Visit;
  readonly signal?: AbortSignal;
  /** How long an open transaction may hold the scan back. Default: longer than any transaction of ours lives. */
  readonly openTransactionWaitMs?: number;
  /** By partition: the last offset that need not be visited. Default: from the log start on. */
  readonly cursors?: readonly Offset[];
  /** Hears of offsets behind the cursor whose records compaction or retention took, up to this one; before any record behind it. */
  readonly onGone?: (partition: number, last: Offset) => void;
}

/**
 * Visits every committed record below the high watermarks that are asked once, before the first read; partition by
 * partition, in offset order. Throws `unavailable` OPEN_TRANSACTION when one holds the log below that for too long, and
 * `lost` when the topic is not the described one any more.
 */
export async function scanTopic(options: ScanOptions): Promise<TopicPosition> {
  const { cluster, topic } = options;
  const offsets = await cluster.catalog.offsets(topic);
  const reader = cluster.openReader();
  try {
    const cursors: Offset[] = [];
    for (const partition of offsets) cursors.push(await scanPartition(options, reader, partition));
    return { topic, cursors };
  } finally {
    await reader.close();
  }
}

async function scanPartition(options: ScanOptions, reader: LogReader, offsets: PartitionOffsets): Promise<Offset> {
  const { topic, visit, signal } = options;
  const source = sourceOf(topic, offsets.partition);
  const patience = new Patience(options.openTransactionWaitMs ?? SCAN_OPEN_TRANSACTION_WAIT_MS);
  const end = cursorBefore(offsets.highWatermark);
  let cursor = offsetMax(options.cursors?.[source.partition] ?? BEFORE_FIRST, cursorBefore(offsets.logStartOffset));
  while (cursor < end) {
    const answer = await reader.read({ ...requestOf(source, cursor, signal), end, waitMs: SCAN_WAIT_MS });
    switch (answer.kind) {
      case 'chunk':
        tellGone(options, source.partition, answer.chunk.holes);
        await visitAll(answer.chunk.records, source.partition, visit);
        cursor = answer.chunk.end;
        patience.renew();
        break;
      case 'lost':
        // Retention went on while we read: what it removed is no longer part of the topic's state.
        options.onGone?.(source.partition, answer.last);
        cursor = answer.last;
        break;
      case 'open transaction':
      case 'end of log':
        patience.check(source, answer);
        break;
      case 'log went back':
      case 'topic missing':
      case 'topic recreated':
      case 'unreadable':
        throw brokenTopic(source, answer);
      default:
        assertNever(answer);
    }
  }
  return cursor;
}

function tellGone({ onGone }: ScanOptions, partition: number, holes: readonly Hole[]): void {
  const last = holes.findLast(({ kind }) => kind === HoleKind.compacted);
  if (last !== undefined) onGone?.(partition, last.last);
}

export interface FollowOptions {
  readonly cluster: Pick<LogCluster, 'openReader'>;
  readonly position: TopicPosition;
  readonly visit: Visit;
  /** Ends it: `follow` then resolves. */
  readonly signal: AbortSignal;
}

/**
 * Visits every further committed record, in offset order within a partition, until the signal aborts. Throws what the
 * reader throws, and `lost` when records that it has not seen were removed: its caller scans again then.
 */
export async function follow(options: FollowOptions): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([options.signal, ending.signal]);
  const partitions = options.position.cursors.map(async (cursor, partition) => {
    try {
      await followPartition(options, sourceOf(options.position.topic, partition), { cursor, signal });
    } finally {
      ending.abort(); // One partition that cannot go on ends all, so that the caller hears of it.
    }
  });
  const ends = await Promise.allSettled(partitions);
  const failure = ends.find((end) => end.status === 'rejected');
  if (failure !== undefined && !options.signal.aborted) throw failure.reason;
}

async function followPartition(
  options: FollowOptions,
  source: Source,
  from: { cursor: Offset; signal: AbortSignal },
): Promise<void> {
  const { signal } = from;
  let { cursor } = from;
  const reader = options.cluster.openReader();
  try {
    while (!signal.aborted) {
      const answer = await readUnlessAborted(reader, {
        ...requestOf(source, cursor, signal),
        end: NO_END,
        waitMs: FOLLOW_WAIT_MS,
      });
      if (answer === undefined) return;
      switch (answer.kind) {
        case 'chunk':
          await visitAll(answer.chunk.records, source.partition, options.visit);
          cursor = answer.chunk.end;
          break;
        case 'end of log':
        case 'open transaction':
          break; // The reader has waited already.
        case 'lost':
        case 'log went back':
        case 'topic missing':
        case 'topic recreated':
        case 'unreadable':
          throw brokenTopic(source, answer);
        default:
          assertNever(answer);
      }
    }
  } finally {
    await reader.close();
  }
}

async function readUnlessAborted(
  reader: LogReader,
  request: Parameters<LogReader['read']>[0],
): Promise<ReadAnswer | undefined> {
  try {
    return await reader.read(request);
  } catch (error) {
    if (request.signal?.aborted === true) return undefined;
    throw error;
  }
}

async function visitAll(records: readonly LogRecord[], partition: number, visit: Visit): Promise<void> {
  for (const record of records) {
    const pending = visit(record, partition);
    if (pending !== undefined) await pending;
  }
}

/** How long a scan has waited without a step forward. */
class Patience {
  readonly #limitMs: number;
  #sinceMs = performance.now();

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  renew(): void {
    this.#sinceMs = performance.now();
  }

  check(source: Source, answer: Extract<ReadAnswer, { kind: 'open transaction' | 'end of log' }>): void {
    if (performance.now() - this.#sinceMs < this.#limitMs) return;
    const where = `${source.topic}/${source.partition}`;
    const message =
      answer.kind === 'open transaction'
        ? `an open transaction at offset ${answer.lastStableOffset} has kept ${where} from being read for ${this.#limitMs} ms`
        : `${where} has ended at ${answer.highWatermark}, before what it showed at first, for ${this.#limitMs} ms`;
    const context = { topic: source.topic, partition: source.partition };
    throw new TidemarkError({ code: 'OPEN_TRANSACTION', class: ErrorClass.unavailable, message, context });
  }
}

function brokenTopic(source: Source, answer: ReadRefusal): TidemarkError {
  const where = `${source.topic}/${source.partition}`;
  const context = { topic: source.topic, partition: source.partition };
  return new TidemarkError({
    code: 'TOPIC_BROKEN',
    class: ErrorClass.lost,
    message: `${where} cannot be read on: ${describeReadRefusal(answer)}`,
    context,
  });
}

function requestOf(source: Source, cursor: Offset, signal: AbortSignal | undefined) {
  const request = { source, cursor, recordsMax: SCAN_CHUNK_RECORDS, bytesMax: SCAN_CHUNK_BYTES };
  return signal === undefined ? request : { ...request, signal };
}

function sourceOf({ topic, topicId }: TopicDescription, partition: number): Source {
  return { topic, topicId, partition };
}
