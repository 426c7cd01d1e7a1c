/** What the closed ranges of a job amount to. */

import type { Counters, LostOffsets } from '@tidemark/contracts';
import { mergeIntervals, type OffsetInterval, type RangeStatus, sumCounters } from '@tidemark/keyspace';
import type { JobResult } from './job-state.ts';
import { LOST_INTERVALS_MAX } from './limits.ts';
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
  readonly lost: readonly OffsetInterval[];
  readonly passed: readonly OffsetInterval[];
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
 * Loss is of two kinds: a worker that skips it counts it where it passes it, and keeps its place; one that stops only names the
 * intervals. What it names at or below its cursor are records that were parked and are gone: they are counted as parked.
 */
export function resultOfRanges(ranges: readonly ClosedRange[]): JobResult {
  const totals = { ...sumCounters(ranges.map(({ counters }) => counters)) };
  for (const { cursor, lost } of ranges)
    for (const { first, last } of lost) {
      totals.lost += last - first + 1n;
      if (last <= cursor) totals.parked -= last - first + 1n;
    }
  return { totals, lost: lostOfRanges(ranges).slice(0, LOST_INTERVALS_MAX) };
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

/** Of both kinds, each offset once: by partition and offset, whole where ranges of a partition meet. */
export function lostOfRanges(
  ranges: readonly Pick<ClosedRange, 'partition' | 'lost' | 'passed'>[],
): readonly LostOffsets[] {
  const byPartition = new Map<number, OffsetInterval[]>();
  for (const { partition, lost, passed } of ranges) {
    const known = byPartition.get(partition) ?? [];
    known.push(...lost, ...passed);
    byPartition.set(partition, known);
  }
  return [...byPartition]
    .sort(([a], [b]) => a - b)
    .flatMap(([partition, intervals]) => mergeIntervals(intervals).map((interval) => ({ partition, ...interval })));
}
