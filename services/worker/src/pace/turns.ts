/**
 * Fair turns: while other jobs are listed a slot gives its range back after some chunks, so that each of them has its
 * turn; alone it keeps the range, for giving it back costs a few round trips and the chunk that was read ahead.
 */
import { SLICE_CHUNKS } from '../limits.ts';

/** One for all slots of a worker. */
export class Turns {
  #othersWait = false;

  /** How many jobs the schedule listed when it was asked last. */
  listed(count: number): void {
    this.#othersWait = count > 1;
  }

  /** Somebody was woken up: perhaps for a new job. The next look at the schedule will tell. */
  rung(): void {
    this.#othersWait = true;
  }

  isOver(chunks: number): boolean {
    return this.#othersWait && chunks >= SLICE_CHUNKS;
  }
}
