/** How far a job is settled: pure. A parked record is behind the cursor of its range, and not settled. */
import { type PrefixRange, type Progress, progressOf, settledPrefixOf } from '@tidemark/jobs';
import { type Offset, type PartitionWindow, toOffset } from '@tidemark/keyspace';

/** The contiguous prefix of a partition; undefined while no range of it is known, unless there is nothing to settle. */
export function settledUpTo(window: PartitionWindow, ranges: readonly PrefixRange[]): Offset | undefined {
  const own = ranges.filter(({ partition }) => partition === window.partition);
  if (own.length === 0 && window.start < window.end) return undefined;
  return settledPrefixOf([window], own)[0]?.settledTo;
}

/** 100 % only when nothing is parked either. */
export function settledProgress(ranges: readonly (PrefixRange & { readonly end: Offset })[]): Progress {
  return progressOf(
    ranges.map(({ start, end, cursor, parked }) => ({ start, end, cursor: toOffset(cursor - BigInt(parked.length)) })),
  );
}
