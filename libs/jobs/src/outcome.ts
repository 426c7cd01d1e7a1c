/** What the closed ranges of a job amount to. */

import type { Counters, LostOffsets } from '@tidemark/contracts';
import { type RangeStatus, sumCounters } from '@tidemark/keyspace';
import type { JobResult } from './job-state.ts';
import { type CountedRange, identityOf } from './totals.ts';

/** What a completed job came to, in the words of its state. */
export const CompletedReason = {
  clean: 'clean',
  deadLetters: 'dead letters',
  loss: 'loss',
  doesNotAddUp: 'numbers do not add up',
} as const;
export type CompletedReason = (typeof CompletedReason)[keyof typeof CompletedReason];

export interface ClosedRange extends CountedRange {
  readonly status: RangeStatus;
  readonly note: string;
  readonly lost: readonly { readonly first: bigint; readonly last: bigint }[];
}

export type Outcome =
  | { readonly kind: 'completed'; readonly reason: string; readonly result: JobResult }
  | { readonly kind: 'broken'; readonly reason: string; readonly result: JobResult };

/** Which ranges' numbers do not add up, as sentences. None should, ever; one that does must not go unnoticed. */
export function identityFaults(ranges: readonly ClosedRange[]): readonly string[] {
  return ranges.flatMap((range) => {
    const where = `range ${range.partition}:${range.start}`;
    const { parked } = range.counters;
    if (range.status === 'done' && parked !== 0n) return [`${where} is done with ${parked} records parked`];
    const identity = identityOf(range);
    return identity.kind === 'holds' ? [] : [`${where} misses ${identity.missing}: ${identity.terms}`];
  });
}

/**
 * Loss is counted in two places: a worker that skips it counts it where it passes it, one that stops only names the
 * intervals. What it names at or below its cursor are records that were parked and are gone: they are counted as parked.
 */
export function resultOfRanges(ranges: readonly ClosedRange[]): JobResult {
  const totals = { ...sumCounters(ranges.map(({ counters }) => counters)) };
  for (const { cursor, lost } of ranges)
    for (const { first, last } of lost) {
      totals.lost += last - first + 1n;
      if (last <= cursor) totals.parked -= last - first + 1n;
    }
  return { totals, lost: ranges.flatMap(lostOf) };
}

/** All ranges are done or stopped. The reason of the first stopped one speaks for the job. */
export function outcomeOf(ranges: readonly ClosedRange[]): Outcome {
  const result = resultOfRanges(ranges);
  const stopped = ranges.filter(({ status }) => status === 'stopped');
  const first = stopped[0];
  if (first === undefined) {
    const reason = identityFaults(ranges).length > 0 ? CompletedReason.doesNotAddUp : completedReason(result.totals);
    return { kind: 'completed', reason, result };
  }
  const others = stopped.length > 1 ? ` (and ${stopped.length - 1} more ranges stopped)` : '';
  return { kind: 'broken', reason: `${first.note} in partition ${first.partition}${others}`, result };
}

/** Loss outweighs dead letters: those can still be redriven. */
export function completedReason(totals: Counters): CompletedReason {
  if (totals.lost > 0n) return CompletedReason.loss;
  return totals.deadLettered > 0n ? CompletedReason.deadLetters : CompletedReason.clean;
}

function lostOf(range: ClosedRange): readonly LostOffsets[] {
  return range.lost.map(({ first, last }) => ({ partition: range.partition, first, last }));
}
