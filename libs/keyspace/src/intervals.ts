/** Spans of offsets, both ends included: what was lost, what is gone. Pure. */

export interface OffsetInterval<O extends bigint = bigint> {
  readonly first: O;
  readonly last: O;
}

/** In offset order; those that touch or overlap are one. */
export function mergeIntervals<O extends bigint>(
  intervals: readonly OffsetInterval<O>[],
): readonly OffsetInterval<O>[] {
  const merged: OffsetInterval<O>[] = [];
  for (const { first, last } of [...intervals].sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))) {
    const before = merged.at(-1);
    if (before === undefined || first > before.last + 1n) merged.push({ first, last });
    else if (last > before.last) merged[merged.length - 1] = { ...before, last };
  }
  return merged;
}

export function sizeOfIntervals(intervals: readonly OffsetInterval[]): bigint {
  return intervals.reduce((sum, { first, last }) => sum + (last - first + 1n), 0n);
}

/** What of the one is not in the other. Both as `mergeIntervals` gives them. */
export function subtractIntervals(
  from: readonly OffsetInterval[],
  taken: readonly OffsetInterval[],
): readonly OffsetInterval[] {
  const left: OffsetInterval[] = [];
  let at = 0;
  for (const { first, last } of from) {
    let next = first;
    while (at < taken.length && (taken[at]?.last ?? last) < first) at += 1;
    for (let i = at; i < taken.length && next <= last; i++) {
      const hole = taken[i];
      if (hole === undefined || hole.first > last) break;
      if (hole.first > next) left.push({ first: next, last: hole.first - 1n });
      if (hole.last >= next) next = hole.last + 1n;
    }
    if (next <= last) left.push({ first: next, last });
  }
  return left;
}
