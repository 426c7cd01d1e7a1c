/**
 * Where a range may be cut while its owner works. Pure.
 *
 *   start          cursor       horizon        at                       end
 *     ├───────────────┼────────────┼────────────┼─────────────────────────┤
 *     │ settled or    │ handed out │            │ the child: (at, end]    │
 *     │ parked        │            │ the parent ends at `at`              │
 *
 * A range covers (start, end], so a child that starts at `at` leaves the parent everything up to and including `at`. The
 * owner may have handed out what is at or below the horizon and nothing above it, hence `at >= horizon`. And `at > cursor`:
 * a parent whose cursor is at its new end would have nothing left that could ever close it. So a cut at a horizon is right
 * as long as the owner has not settled all of it.
 */
import { NO_COUNTS, type Offset } from '@tidemark/keyspace';
import type { RangeState, SplitAnswer } from './ports.ts';
import { NO_TOKEN } from './token.ts';

export type SplitDecision =
  | { readonly kind: 'cut'; readonly parent: RangeState; readonly child: RangeState }
  | Extract<SplitAnswer, { kind: 'refused' }>;

/** For an `at` where no range starts yet. */
export function decideSplit(
  range: RangeState,
  request: { readonly at: Offset; readonly nowMs: number },
): SplitDecision {
  const { at, nowMs } = request;
  if (range.status !== 'open') return { kind: 'refused', why: 'closed' };
  if (at <= range.start || at >= range.end) return { kind: 'refused', why: 'outside' };
  if (at < range.horizon || at <= range.cursor) return { kind: 'refused', why: 'claimed' };
  return {
    kind: 'cut',
    parent: { ...range, end: at },
    child: {
      partition: range.partition,
      start: at,
      end: range.end,
      cursor: at,
      horizon: at,
      status: 'open',
      note: '',
      noteSinceMs: 0,
      lost: [],
      passed: [],
      parked: [],
      counters: NO_COUNTS,
      owner: '',
      // Its first grant draws the first token of this epoch, as after an install: in this epoch it has had no other.
      token: NO_TOKEN,
      leaseUntilMs: 0,
      notBeforeMs: nowMs,
      version: 0n,
    },
  };
}
