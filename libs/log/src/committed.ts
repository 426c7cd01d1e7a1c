/**
 * Which batches of one fetch answer hold committed records. Pure: it sees only batch heads and the answer's list.
 *
 * The broker sends everything up to the last stable offset, aborted data included, and beside it a list of the aborted
 * transactions that touch the answer. The list is ordered by completion, may name transactions that began before the
 * answer or whose marker lies after it, and says only where each began. So: sort by first offset; walk the batches in
 * log order; a listed transaction becomes active when a batch reaches its first offset; from then on every transactional
 * data batch of that producer is aborted, until its ABORT marker. A producer has one transaction at a time, so one flag
 * a producer is enough; keeping one *range* a producer is not: between two aborts there may be commits.
 *
 * Source: the protocol guide on Fetch and KIP-98; checked against the Java consumer in the tests.
 */
export interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: bigint;
}

export const ControlType = { none: 'none', abort: 'abort', commit: 'commit' } as const;
export type ControlType = (typeof ControlType)[keyof typeof ControlType];

export interface BatchTraits {
  readonly producerId: bigint;
  readonly lastOffset: bigint;
  readonly transactional: boolean;
  /** `none` for data. A control batch of an unknown or compacted-away kind counts as `commit`: it ends nothing. */
  readonly control: ControlType;
}

export const BatchFate = { deliver: 'deliver', control: 'control', aborted: 'aborted' } as const;
export type BatchFate = (typeof BatchFate)[keyof typeof BatchFate];

/** State of one answer. Every batch of the answer must be shown to it once, in log order. */
export class CommittedFilter {
  readonly #waiting: readonly AbortedTransaction[];
  readonly #active = new Set<bigint>();
  #nextWaiting = 0;

  constructor(aborted: readonly AbortedTransaction[]) {
    this.#waiting = [...aborted].sort((a, b) =>
      a.firstOffset < b.firstOffset ? -1 : a.firstOffset > b.firstOffset ? 1 : 0,
    );
  }

  fateOf(batch: BatchTraits): BatchFate {
    this.#activateUpTo(batch.lastOffset);
    if (batch.control !== ControlType.none) {
      if (batch.control === ControlType.abort) this.#active.delete(batch.producerId);
      return BatchFate.control;
    }
    return batch.transactional && this.#active.has(batch.producerId) ? BatchFate.aborted : BatchFate.deliver;
  }

  #activateUpTo(offset: bigint): void {
    for (;;) {
      const transaction = this.#waiting[this.#nextWaiting];
      if (transaction === undefined || transaction.firstOffset > offset) return;
      this.#active.add(transaction.producerId);
      this.#nextWaiting += 1;
    }
  }
}
