/**
 * Walks the batches of one fetch answer into chunks. It may stop anywhere (a chunk is full, the end is reached) and go on
 * with the next chunk, so sequential reads ask the broker once. Only the batch in hand is unpacked.
 */

import type { ChunkBuilder } from './chunk-builder.ts';
import { type AbortedTransaction, BatchFate, CommittedFilter } from './committed.ts';
import { type Bytes, HoleKind, type LogRecord } from './ports.ts';
import {
  type BatchCodecs,
  type BatchHead,
  controlTypeOf,
  openRecords,
  type RecordCursor,
  readBatchHead,
  UnreadableBatch,
  verifyBatch,
} from './record-batch.ts';

export type WalkStop =
  /** The chunk takes no more; a deliverable record waits. */
  | { readonly kind: 'full' }
  /** The chunk reached its end. */
  | { readonly kind: 'end' }
  /** No complete batch is left in the answer. */
  | { readonly kind: 'exhausted' }
  | { readonly kind: 'unreadable'; readonly offset: bigint; readonly message: string };

const FULL: WalkStop = { kind: 'full' };
const END: WalkStop = { kind: 'end' };
const EXHAUSTED: WalkStop = { kind: 'exhausted' };

interface OpenBatch {
  readonly head: BatchHead;
  records: RecordCursor | undefined;
  /** Read, but the chunk before did not take it. */
  waiting: LogRecord | undefined;
}

export class AnswerWalk {
  readonly #buffer: Bytes;
  readonly #codecs: BatchCodecs;
  readonly #filter: CommittedFilter;
  #position = 0;
  #batch: OpenBatch | undefined;
  #unreadable: WalkStop | undefined;

  constructor(answer: {
    readonly buffer: Bytes;
    readonly aborted: readonly AbortedTransaction[];
    readonly codecs: BatchCodecs;
  }) {
    this.#buffer = answer.buffer;
    this.#codecs = answer.codecs;
    this.#filter = new CommittedFilter(answer.aborted);
  }

  walkInto(chunk: ChunkBuilder): WalkStop {
    if (this.#unreadable !== undefined) return this.#unreadable;
    try {
      for (;;) {
        if (chunk.reachedEnd) return END;
        const batch = this.#batch ?? this.#openNext(chunk);
        if (batch === undefined) return chunk.reachedEnd ? END : EXHAUSTED;
        if (!this.#drain(batch, chunk)) return chunk.reachedEnd ? END : FULL;
        this.#batch = undefined;
      }
    } catch (error) {
      if (!(error instanceof UnreadableBatch)) throw error;
      this.#unreadable = { kind: 'unreadable', offset: chunk.nextOffset, message: error.message };
      return this.#unreadable;
    }
  }

  /** The next batch with deliverable records at or above the chunk's next offset; what lies before it becomes holes. */
  #openNext(chunk: ChunkBuilder): OpenBatch | undefined {
    for (;;) {
      const head = readBatchHead(this.#buffer, this.#position);
      if (head === undefined) return undefined;
      // The place first: if the batch is damaged, the verdict names where it begins, not the hole before it.
      chunk.skipThrough(head.baseOffset - 1n, HoleKind.compacted);
      if (chunk.reachedEnd) return undefined;
      verifyBatch(this.#buffer, head, this.#codecs);
      this.#position = head.end;
      const { producerId, lastOffset, transactional } = head;
      const fate = this.#filter.fateOf({
        producerId,
        lastOffset,
        transactional,
        control: controlTypeOf(this.#buffer, head),
      });
      if (lastOffset < chunk.nextOffset) continue;
      if (fate === BatchFate.deliver && head.recordCount > 0) {
        this.#batch = { head, records: undefined, waiting: undefined };
        return this.#batch;
      }
      chunk.skipThrough(lastOffset, fate === BatchFate.deliver ? HoleKind.compacted : HoleKind.marker);
      if (chunk.reachedEnd) return undefined;
    }
  }

  /** False when the chunk stopped inside the batch. */
  #drain(batch: OpenBatch, chunk: ChunkBuilder): boolean {
    if (chunk.holdsMaxRecords) return false;
    batch.records ??= openRecords(this.#buffer, batch.head, this.#codecs);
    const records = batch.records;
    for (;;) {
      const record = batch.waiting ?? records.next();
      if (record === undefined) break;
      batch.waiting = undefined;
      if (record.offset < chunk.nextOffset) continue;
      chunk.skipThrough(record.offset - 1n, HoleKind.compacted);
      if (chunk.reachedEnd || !chunk.accepts(records.recordBytes)) {
        batch.waiting = record;
        return false;
      }
      chunk.add(record, records.recordBytes);
    }
    chunk.skipThrough(batch.head.lastOffset, HoleKind.compacted);
    return true;
  }
}

/** The offset after the last complete batch, undefined when there is none. */
export function nextOffsetAfter(buffer: Bytes): bigint | undefined {
  let next: bigint | undefined;
  let position = 0;
  for (;;) {
    const head = readBatchHead(buffer, position);
    if (head === undefined) return next;
    next = head.lastOffset + 1n;
    position = head.end;
  }
}
