/**
 * What of a chunk is settled, and how far without a gap. Records of a chunk may finish in any order; the cursor may only
 * move over the contiguous settled prefix, because its position claims that everything below is done. Three numbers, three
 * names: settled, settled in the prefix, and done ahead of the first open record (which a crash will repeat). A parked record
 * is passed as a settled one is: the move that passes it names it, and its range stays open until it is settled elsewhere.
 *
 *   offsets   10 11 12 13 14 15 16 17        records 10, 12, 13, 16; the rest are holes
 *   settled   x  .  x  o  .  .  x  .         the prefix ends at 12, and 16 is done ahead
 *
 * A hole is settled by nature and counts with the prefix that reaches it.
 */

import type { LostInterval, Parking } from '@tidemark/cursors';
import {
  ErrorClass,
  explainedOffsets,
  type Offset,
  type RangeCounters,
  TidemarkError,
  toOffset,
} from '@tidemark/keyspace';
import { type Chunk, HoleKind } from '@tidemark/log';
import type { PrefixMove } from '../lease/moves.ts';
import { Settlement } from '../run/settlement.ts';

/** Beside the settlements. */
const OPEN = 0;
const PARKED = 5;
const NONE_PARKED: readonly Parking[] = [];
/** Whatever is in a chunk is there. */
const NONE_LOST: readonly LostInterval[] = [];

export class SettledPrefix {
  readonly #chunk: Chunk;
  /** A byte for each record: open, or how it was settled. */
  readonly #states: Uint8Array;
  readonly #retries = new Map<number, number>();
  readonly #parkings = new Map<number, Parking>();
  #settled = 0;
  /** Records in the contiguous settled prefix. */
  #prefix = 0;
  /** Records, holes and offsets that a move has taken already. */
  #takenRecords = 0;
  #takenHoles = 0;
  #takenTo: Offset;

  constructor(chunk: Chunk) {
    this.#chunk = chunk;
    this.#states = new Uint8Array(chunk.records.length);
    this.#takenTo = chunk.start;
  }

  /** Settling twice keeps the first settlement: a late answer of an attempt that was given up changes nothing. */
  settle(index: number, settlement: Settlement): void {
    this.#close(index, settlement);
  }

  /** False when it is settled already. */
  park(index: number, parking: Parking): boolean {
    if (!this.#close(index, PARKED)) return false;
    this.#parkings.set(index, parking);
    return true;
  }

  addRetry(index: number): void {
    this.#retries.set(index, (this.#retries.get(index) ?? 0) + 1);
  }

  /** Indexes of records that are not settled, in offset order. */
  openIndexes(): number[] {
    const open: number[] = [];
    for (let index = this.#prefix; index < this.#states.length; index++)
      if (this.#states[index] === OPEN) open.push(index);
    return open;
  }

  get isComplete(): boolean {
    return this.#prefix === this.#states.length;
  }

  /** Records in the contiguous settled prefix. */
  get prefixCount(): number {
    return this.#prefix;
  }

  /** Records that a move has taken: an answer that comes later may still join the prefix, but no move may follow. */
  get takenCount(): number {
    return this.#takenRecords;
  }

  /** Records that are settled above the first open one. */
  get doneAhead(): number {
    return this.#settled - this.#prefix;
  }

  /** The move over what joined the prefix since the last one; undefined when there is nothing to move over. */
  take(): PrefixMove | undefined {
    const to = this.#prefixEnd();
    if (to === this.#takenTo) return undefined;
    const from = this.#takenTo;
    const holes = this.#takeHoles(to);
    const kinds = this.#takeRecords();
    const chunks = to === this.#chunk.end ? 1n : 0n;
    const add = { ...kinds, ...holes, lost: 0n, chunks, maybeRedelivered: 0n };
    const span = explainedOffsets(add);
    if (span !== to - from) throw gapInChunk({ from, to, span });
    this.#takenTo = to;
    return { from, to, add, park: this.#takeParkings(), passed: NONE_LOST };
  }

  #close(index: number, state: number): boolean {
    if (this.#states[index] !== OPEN) return false;
    this.#states[index] = state;
    this.#settled += 1;
    while (this.#prefix < this.#states.length && this.#states[this.#prefix] !== OPEN) this.#prefix += 1;
    return true;
  }

  /** The last offset below the first open record, holes included; the end of the chunk when none is open. */
  #prefixEnd(): Offset {
    const firstOpen = this.#chunk.records[this.#prefix];
    return firstOpen === undefined ? this.#chunk.end : toOffset(firstOpen.offset - 1n);
  }

  #takeRecords(): Pick<RangeCounters, 'ok' | 'skipped' | 'deadLettered' | 'filtered' | 'parked' | 'retries'> {
    const counts = [0, 0, 0, 0, 0, 0];
    let retries = 0;
    for (let index = this.#takenRecords; index < this.#prefix; index++) {
      const state = this.#states[index] ?? OPEN;
      counts[state] = (counts[state] ?? 0) + 1;
    }
    for (const [index, count] of this.#retries) {
      if (index >= this.#prefix) continue;
      retries += count;
      this.#retries.delete(index);
    }
    this.#takenRecords = this.#prefix;
    const of = (state: number): bigint => BigInt(counts[state] ?? 0);
    return {
      ok: of(Settlement.ok),
      skipped: of(Settlement.skipped),
      deadLettered: of(Settlement.deadLettered),
      filtered: of(Settlement.filtered),
      parked: of(PARKED),
      retries: BigInt(retries),
    };
  }

  /** Of the records that the prefix has reached. */
  #takeParkings(): readonly Parking[] {
    if (this.#parkings.size === 0) return NONE_PARKED;
    const taken = [...this.#parkings].filter(([index]) => index < this.#prefix).sort(([a], [b]) => a - b);
    for (const [index] of taken) this.#parkings.delete(index);
    return taken.map(([, parking]) => parking);
  }

  /** Holes lie between records, so one is either wholly below the end of the prefix or wholly above it. */
  #takeHoles(to: Offset): Pick<RangeCounters, 'markers' | 'compacted'> {
    let markers = 0n;
    let compacted = 0n;
    for (
      let hole = this.#chunk.holes[this.#takenHoles];
      hole !== undefined && hole.last <= to;
      hole = this.#chunk.holes[this.#takenHoles]
    ) {
      const length = hole.last - hole.first + 1n;
      if (hole.kind === HoleKind.marker) markers += length;
      else compacted += length;
      this.#takenHoles += 1;
    }
    return { markers, compacted };
  }
}

/** The sum that audits rest on is checked where it arises: a reader that lost an offset must not move a cursor. */
function gapInChunk(gap: { readonly from: Offset; readonly to: Offset; readonly span: bigint }): TidemarkError {
  return new TidemarkError({
    code: 'GAP_IN_CHUNK',
    class: ErrorClass.bug,
    message: `the chunk accounts for ${gap.span} of the ${gap.to - gap.from} offsets in (${gap.from}, ${gap.to}]: the reader lost some`,
    context: gap,
  });
}
