/**
 * One partition of the in-memory log. Every offset that was ever given out is an entry until compaction or truncation takes
 * it; transactions leave markers as Kafka's do. No client, no clock, no I/O: a model that can be looked at.
 */
import { type Offset, toOffset } from '@tidemark/keyspace';
import type { ChunkBuilder } from '../chunk-builder.ts';
import {
  HoleKind,
  type LogEntry,
  type LogRecord,
  type OutgoingRecord,
  type PartitionOffsets,
  type TransactionalProducer,
} from '../ports.ts';

/** Shared by all entries of one transaction, over all partitions. */
export interface MemoryTransaction extends TransactionalProducer {
  outcome: 'open' | 'committed' | 'aborted';
}

type Entry =
  | { readonly kind: 'data'; readonly record: LogRecord; readonly transaction: MemoryTransaction | undefined }
  | { readonly kind: 'marker'; readonly transaction: MemoryTransaction }
  /** Stands for a batch that cannot be decoded. */
  | { readonly kind: 'damaged'; readonly message: string };

const NOBODY: TransactionalProducer = { producerId: -1n, producerEpoch: -1 };

export class MemoryPartition {
  readonly #entries = new Map<bigint, Entry>();
  /** Where each transaction that may still be open began here; cleared of ended ones when asked. */
  readonly #begun = new Map<MemoryTransaction, bigint>();
  #logStartOffset = 0n;
  #highWatermark = 0n;

  append(
    record: OutgoingRecord,
    context: { readonly nowMs: bigint; readonly transaction?: MemoryTransaction },
  ): Offset {
    const offset = toOffset(this.#highWatermark);
    const { transaction } = context;
    if (transaction !== undefined && !this.#begun.has(transaction)) this.#begun.set(transaction, offset);
    const { key, value, headers = [], timestampMs = context.nowMs } = record;
    this.#put({ kind: 'data', record: { offset, timestampMs, key, value, headers }, transaction });
    return offset;
  }

  appendMarker(transaction: MemoryTransaction): void {
    this.#put({ kind: 'marker', transaction });
  }

  appendDamaged(message: string): Offset {
    const offset = toOffset(this.#highWatermark);
    this.#put({ kind: 'damaged', message });
    return offset;
  }

  offsets(partition: number): PartitionOffsets {
    return {
      partition,
      logStartOffset: toOffset(this.#logStartOffset),
      lastStableOffset: toOffset(this.#lastStableOffset()),
      highWatermark: toOffset(this.#highWatermark),
    };
  }

  ongoing(): readonly { readonly transaction: MemoryTransaction; readonly firstOffset: Offset }[] {
    return [...this.#begun]
      .filter(([{ outcome }]) => outcome === 'open')
      .map(([transaction, firstOffset]) => ({ transaction, firstOffset: toOffset(firstOffset) }));
  }

  /** Each record is a batch of its own. */
  *entriesFrom(from: Offset): Generator<LogEntry, void, undefined> {
    for (const [place, entry] of this.#entries) {
      if (place < from || entry.kind === 'damaged') continue;
      const { producerId, producerEpoch } = entry.transaction ?? NOBODY;
      const producer = { producerId, producerEpoch };
      if (entry.kind === 'data') {
        yield { kind: 'data', ...producer, transactional: entry.transaction !== undefined, records: [entry.record] };
      } else {
        const outcome = entry.transaction.outcome === 'aborted' ? 'abort' : 'commit';
        yield { kind: 'marker', ...producer, offset: toOffset(place), outcome };
      }
    }
  }

  firstOffsetAt(timestampMs: bigint): Offset | undefined {
    for (const entry of this.#entries.values()) {
      if (entry.kind === 'data' && entry.record.timestampMs >= timestampMs) return entry.record.offset;
    }
    return undefined;
  }

  /** Feeds the chunk from its next offset on. Returns what is wrong with the entry there, if something is. */
  readInto(chunk: ChunkBuilder): string | undefined {
    const lastStableOffset = this.#lastStableOffset();
    while (!chunk.reachedEnd && chunk.nextOffset < lastStableOffset) {
      const entry = this.#entries.get(chunk.nextOffset);
      if (entry === undefined) {
        chunk.skipThrough(chunk.nextOffset, HoleKind.compacted);
      } else if (entry.kind === 'damaged') {
        return entry.message;
      } else if (entry.kind === 'marker' || entry.transaction?.outcome === 'aborted') {
        chunk.skipThrough(chunk.nextOffset, HoleKind.marker);
      } else {
        const bytes = sizeOf(entry.record);
        if (!chunk.accepts(bytes)) return undefined;
        chunk.add(entry.record, bytes);
      }
    }
    return undefined;
  }

  deleteBefore(offset: bigint): void {
    if (offset > this.#highWatermark)
      throw new RangeError(`offset ${offset} is above the high watermark ${this.#highWatermark}`);
    if (offset <= this.#logStartOffset) return;
    this.#logStartOffset = offset;
    for (const known of this.#entries.keys()) if (known < offset) this.#entries.delete(known);
  }

  /** The log as a restored backup or an unclean election leaves it. */
  truncateTo(highWatermark: bigint): void {
    for (const known of this.#entries.keys()) if (known >= highWatermark) this.#entries.delete(known);
    this.#highWatermark = highWatermark;
    if (this.#logStartOffset > highWatermark) this.#logStartOffset = highWatermark;
  }

  /** Removes the records that `keep` refuses, and every marker; all below the last stable offset. */
  compact(keep: (record: LogRecord) => boolean): void {
    const lastStableOffset = this.#lastStableOffset();
    for (const [offset, entry] of this.#entries) {
      const goes = entry.kind === 'marker' || (entry.kind === 'data' && !keep(entry.record));
      if (goes && offset < lastStableOffset) this.#entries.delete(offset);
    }
  }

  /** Compaction as Kafka means it: the last committed record of each key stays. */
  compactByKey(): void {
    const lastOf = new Map<string, bigint>();
    for (const [offset, entry] of this.#entries) {
      if (entry.kind !== 'data' || entry.transaction?.outcome === 'aborted') continue;
      lastOf.set(entry.record.key?.toString('hex') ?? '', offset);
    }
    const survivors = new Set(lastOf.values());
    this.compact((record) => survivors.has(record.offset));
  }

  #put(entry: Entry): void {
    this.#entries.set(this.#highWatermark, entry);
    this.#highWatermark += 1n;
  }

  #lastStableOffset(): bigint {
    let lowest = this.#highWatermark;
    for (const [transaction, first] of this.#begun) {
      if (transaction.outcome !== 'open') this.#begun.delete(transaction);
      else if (first < lowest) lowest = first;
    }
    return lowest;
  }
}

export function sizeOf(record: Pick<LogRecord, 'key' | 'value' | 'headers'>): number {
  let bytes = (record.key?.length ?? 0) + (record.value?.length ?? 0);
  for (const [name, value] of record.headers) bytes += Buffer.byteLength(name) + (value?.length ?? 0);
  return bytes;
}
