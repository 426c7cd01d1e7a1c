/**
 * Collects one chunk and accounts for every offset: it only grows at its end, each offset becomes a record or part of a
 * hole, and it never passes the asked end. Whoever feeds it cannot lose an offset without the size check noticing.
 */
import { cursorBefore, type Offset, toOffset } from '@tidemark/keyspace';
import type { Chunk, Hole, HoleKind, LogRecord } from './ports.ts';

export interface ChunkBounds {
  readonly cursor: Offset;
  readonly end: Offset;
  readonly recordsMax: number;
  readonly bytesMax: number;
}

export class ChunkBuilder {
  readonly #bounds: ChunkBounds;
  readonly #records: LogRecord[] = [];
  readonly #holes: { first: Offset; last: Offset; kind: HoleKind }[] = [];
  #bytes = 0;
  #nextOffset: bigint;

  constructor(bounds: ChunkBounds) {
    this.#bounds = bounds;
    this.#nextOffset = bounds.cursor + 1n;
  }

  /** The first offset that is not accounted for yet. */
  get nextOffset(): bigint {
    return this.#nextOffset;
  }

  get recordCount(): number {
    return this.#records.length;
  }

  get reachedEnd(): boolean {
    return this.#nextOffset > this.#bounds.end;
  }

  get progressed(): boolean {
    return this.#nextOffset > this.#bounds.cursor + 1n;
  }

  get end(): bigint {
    return this.#bounds.end;
  }

  /** No further record fits, whatever its size. Holes still do. */
  get holdsMaxRecords(): boolean {
    return this.#records.length >= this.#bounds.recordsMax;
  }

  /** Whether a record of that size fits; the first one always does. */
  accepts(recordBytes: number): boolean {
    if (this.#records.length === 0) return true;
    return this.#records.length < this.#bounds.recordsMax && this.#bytes + recordBytes <= this.#bounds.bytesMax;
  }

  /** The record at exactly `nextOffset`. */
  add(record: LogRecord, recordBytes: number): void {
    if (record.offset !== this.#nextOffset)
      throw new RangeError(`record ${record.offset} does not follow ${this.#nextOffset - 1n}`);
    this.#records.push(record);
    this.#bytes += recordBytes;
    this.#nextOffset = record.offset + 1n;
  }

  /** Everything from `nextOffset` through `last`, clipped to the end, is a hole. Does nothing if that is empty. */
  skipThrough(last: bigint, kind: HoleKind): void {
    const clipped = last < this.#bounds.end ? last : this.#bounds.end;
    if (clipped < this.#nextOffset) return;
    const before = this.#holes.at(-1);
    if (before !== undefined && before.kind === kind && before.last + 1n === this.#nextOffset) {
      before.last = toOffset(clipped);
    } else {
      this.#holes.push({ first: toOffset(this.#nextOffset), last: toOffset(clipped), kind });
    }
    this.#nextOffset = clipped + 1n;
  }

  build(): Chunk {
    return {
      start: this.#bounds.cursor,
      end: cursorBefore(toOffset(this.#nextOffset)),
      records: this.#records,
      holes: this.#holes,
      bytes: this.#bytes,
    };
  }
}

/** Offsets that the holes cover. */
export function holeSize(holes: readonly Hole[]): bigint {
  let size = 0n;
  for (const hole of holes) size += hole.last - hole.first + 1n;
  return size;
}
