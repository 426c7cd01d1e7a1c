/**
 * What the ends of topics tell of an outbox: which of its rows are there already, and which events are there whose rows
 * it does not have. Read from a time on that lies before the oldest row, since no event is older than its row.
 */
import { cursorBefore, type Offset, toOffset } from '@tidemark/keyspace';
import { headerText, type LogCluster, type LogRecord, scanTopic, type TopicDescription } from '@tidemark/log';
import type { Evidence } from '@tidemark/outbox';
import { EXTRA_EVENTS_LISTED_MAX, REBASE_CLOCKS_MS } from './limits.ts';

/** An event whose row the database does not have, although it should: its commit was lost. */
export interface ExtraEvent {
  readonly topic: string;
  readonly partition: number;
  readonly offset: Offset;
  readonly key: string;
  readonly id: string;
  readonly type: string;
  /** When the row was written, by the clock of its database. */
  readonly occurredAt: string;
}

export interface ExtraEvents {
  /** Published later than this, by the relay's clock. */
  readonly sinceMs: bigint;
  readonly count: number;
  /** The first of them. */
  readonly listed: readonly ExtraEvent[];
}

export interface Findings extends Evidence {
  readonly extra: ExtraEvents | undefined;
}

export interface ScanQuestion {
  readonly cluster: LogCluster;
  /** `ce_source` of what the relay writes. */
  readonly source: string;
  readonly ids: { has(id: string): boolean };
  /** By topic: no event of interest is older. */
  readonly fromMs: ReadonlyMap<string, bigint>;
  /** Events later than this must have a row; undefined when that cannot be said. */
  readonly extraSinceMs: bigint | undefined;
  readonly signal: AbortSignal;
}

export async function scanForRows(question: ScanQuestion): Promise<Findings> {
  const { cluster, ids, source, extraSinceMs, signal } = question;
  const found = new Set<string>();
  const takenUpToMs = new Map<string, bigint>();
  const listed: ExtraEvent[] = [];
  let count = 0;

  /** True for an event of the relay. */
  function visit(topic: string, record: LogRecord, partition: number): boolean {
    const id = headerText(record, 'ce_id');
    if (id === undefined || headerText(record, 'ce_source') !== source) return false;
    if (ids.has(id)) found.add(id);
    else if (extraSinceMs !== undefined && record.timestampMs > extraSinceMs) {
      count += 1;
      if (listed.length < EXTRA_EVENTS_LISTED_MAX) listed.push(extraEvent(topic, record, partition));
    }
    return true;
  }

  for (const [name, fromMs] of question.fromMs) {
    const topic = await cluster.catalog.describe(name);
    // Of a topic that is not there nothing was published, as far as anybody can still see.
    if (topic === undefined) continue;
    const start = await startOf(cluster, topic, fromMs);
    const gaps = new Gaps(start.cutBefore);
    await scanTopic({
      ...{ cluster, topic, signal, cursors: start.cursors },
      onGone: (partition, last) => gaps.open(partition, last),
      visit(record, partition) {
        if (visit(name, record, partition)) gaps.close(partition, record);
      },
    });
    const takenMs = gaps.takenUpToMs();
    if (takenMs !== undefined) takenUpToMs.set(name, takenMs);
  }
  const extra = extraSinceMs === undefined ? undefined : { sinceMs: extraSinceMs, count, listed };
  return { found, takenUpToMs, extra };
}

/**
 * Records of a topic that are gone. A relay writes in the order of its clock, so what it wrote before one of its records
 * is not newer; and no row is newer than its event, but for what the clocks are apart.
 */
class Gaps {
  /** By partition: the last offset that is gone, while no record of a relay was seen behind it. */
  readonly #open: Map<number, Offset>;
  #takenUpToMs: bigint | undefined;

  constructor(cutBefore: ReadonlyMap<number, Offset>) {
    this.#open = new Map(cutBefore);
  }

  open(partition: number, last: Offset): void {
    this.#open.set(partition, last);
  }

  close(partition: number, { offset, timestampMs }: LogRecord): void {
    const last = this.#open.get(partition);
    if (last === undefined || offset <= last) return;
    this.#open.delete(partition);
    const takenMs = timestampMs + BigInt(REBASE_CLOCKS_MS);
    if (this.#takenUpToMs === undefined || takenMs > this.#takenUpToMs) this.#takenUpToMs = takenMs;
  }

  takenUpToMs(): bigint | undefined {
    return this.#open.size > 0 ? AT_ANY_TIME : this.#takenUpToMs;
  }
}

const AT_ANY_TIME = 2n ** 63n - 1n;

interface ScanStart {
  readonly cursors: readonly Offset[];
  /** By partition: the last offset that retention took, where it may be of interest. */
  readonly cutBefore: ReadonlyMap<number, Offset>;
}

async function startOf(cluster: LogCluster, topic: TopicDescription, fromMs: bigint): Promise<ScanStart> {
  const offsets = await cluster.catalog.offsets(topic);
  const firsts = await cluster.catalog.offsetsAt(topic, fromMs);
  const starts = offsets.map((partition) => ({
    partition,
    first: firsts[partition.partition] ?? partition.highWatermark,
  }));
  return {
    // The offset before the first is read, too: when compaction took it, it may have been of interest.
    cursors: starts.map(({ first }) => toOffset(first > 1n ? first - 2n : -1n)),
    cutBefore: new Map(
      starts
        .filter(({ partition, first }) => partition.logStartOffset > 0n && first <= partition.logStartOffset)
        .map(({ partition }) => [partition.partition, cursorBefore(partition.logStartOffset)]),
    ),
  };
}

function extraEvent(topic: string, record: LogRecord, partition: number): ExtraEvent {
  return {
    topic,
    partition,
    offset: record.offset,
    key: record.key?.toString() ?? '',
    id: headerText(record, 'ce_id') ?? '',
    type: headerText(record, 'ce_type') ?? '',
    occurredAt: headerText(record, 'ce_time') ?? '',
  };
}
