import type { LostInterval, Parking } from '@tidemark/cursors';
import type { Offset, RangeCounters } from '@tidemark/keyspace';

/** One move of the cursor: from where to where, and what lies between. */
export interface PrefixMove {
  readonly from: Offset;
  readonly to: Offset;
  readonly add: RangeCounters;
  /** In `(from, to]`, in offset order. */
  readonly park: readonly Parking[];
  /** What of `(from, to]` is lost. */
  readonly passed: readonly LostInterval[];
}

/** What one `settle` of the store is told: how parked records ended, and which wait again. */
export interface SettleStep {
  readonly settled: readonly Offset[];
  readonly again: readonly Parking[];
  /** Which of the settled ones are lost. */
  readonly passed: readonly LostInterval[];
  readonly add: RangeCounters;
}
