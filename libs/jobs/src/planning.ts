/** From a pinned window to ranges, and the check that ranges read back from anywhere still tile it. */
import type { Pin } from '@tidemark/contracts';
import {
  isEmpty,
  type Offset,
  type PartitionWindow,
  type RangeRef,
  splitWindow,
  toOffset,
  windowSize,
} from '@tidemark/keyspace';
import { Ordering } from './definition.ts';
import { AUTOMATIC_RANGES_MAX, SPAN_MIN } from './limits.ts';

export interface PlannedRange extends RangeRef {
  readonly end: Offset;
}

/**
 * Only ordering `none` allows to cut a partition: the parts are worked on at the same time. `rangesPerPartition` is a wish for
 * so many parts of each; 0 = as the spans ask for. Empty windows make no range, so a job with nothing to do has none and is
 * complete at once.
 */
export function planRanges(
  windows: readonly PartitionWindow[],
  options: { readonly ordering: string; readonly rangesPerPartition: number },
): readonly PlannedRange[] {
  const filled = windows.filter((window) => !isEmpty(window));
  const partsOf = partsOfPartition(filled, options);
  return filled.flatMap((window) =>
    splitWindow(window, partsOf(window)).map((range) => ({ partition: window.partition, ...range })),
  );
}

/**
 * Automatic: one span for the whole job, so that a large partition is cut and a small one is not, and no slot is left with
 * a range many times as long as the others. The longest range is less than two spans.
 */
function partsOfPartition(
  windows: readonly PartitionWindow[],
  options: { readonly ordering: string; readonly rangesPerPartition: number },
): (window: PartitionWindow) => number {
  if (options.ordering !== Ordering.none) return () => 1;
  if (options.rangesPerPartition > 0) return () => options.rangesPerPartition;
  const total = windows.reduce((sum, window) => sum + windowSize(window), 0n);
  const even = (total + AUTOMATIC_RANGES_MAX - 1n) / AUTOMATIC_RANGES_MAX;
  const span = even > SPAN_MIN ? even : SPAN_MIN;
  return (window) => Math.max(1, Number(windowSize(window) / span));
}

export function windowsOf(pin: Pin): readonly PartitionWindow[] {
  return pin.partitions.map(({ partition, start, end }) => ({ partition, start: toOffset(start), end: toOffset(end) }));
}

/**
 * No range records an end: it ends where the next one starts, the last one at the pinned end. So a hole can only show as a
 * missing first range, and an overlap only as a cursor beyond the derived end. Returns all faults as sentences; none = the
 * ranges tile the windows. The order of the ranges does not matter.
 */
export function tilingFaults(
  windows: readonly PartitionWindow[],
  ranges: readonly (RangeRef & { readonly cursor: Offset })[],
): readonly string[] {
  const faults: string[] = [];
  const byPartition = Map.groupBy(ranges, ({ partition }) => partition);
  for (const window of windows) {
    const own = byPartition.get(window.partition) ?? [];
    if (isEmpty(window)) {
      if (own.length > 0) faults.push(`partition ${window.partition} is empty but has ${own.length} ranges`);
      continue;
    }
    faults.push(...partitionFaults(window, own));
  }
  const covered = new Set(windows.map(({ partition }) => partition));
  for (const range of ranges)
    if (!covered.has(range.partition)) faults.push(`range ${range.partition}:${range.start} lies in no window`);
  return faults;
}

function partitionFaults(
  window: PartitionWindow,
  own: readonly (RangeRef & { readonly cursor: Offset })[],
): readonly string[] {
  const where = `partition ${window.partition}`;
  const withEnds = deriveEnds([window], own);
  const first = withEnds[0];
  if (first === undefined) return [`${where}: hole from ${window.start + 1n} to ${window.end}, no range covers it`];
  const faults: string[] = [];
  if (first.start > window.start)
    faults.push(`${where}: hole from ${window.start + 1n} to ${first.start}, no range covers it`);
  for (const range of withEnds) {
    if (range.start < window.start || range.start >= window.end)
      faults.push(`${where}: range ${range.start} starts outside (${window.start}, ${window.end}]`);
    else if (range.end <= range.start) faults.push(`${where}: two ranges start at ${range.start}`);
    if (range.cursor < range.start)
      faults.push(`${where}: the cursor ${range.cursor} of range ${range.start} is before its start`);
    if (range.cursor > range.end)
      faults.push(`${where}: range ${range.start} overlaps the next one: cursor ${range.cursor}, end ${range.end}`);
  }
  return faults;
}

/** The ranges by partition and start, each with the end that its neighbours imply. */
export function deriveEnds<Range extends RangeRef>(
  windows: readonly PartitionWindow[],
  ranges: readonly Range[],
): readonly (Range & { readonly end: Offset })[] {
  const ends = new Map(windows.map(({ partition, end }) => [partition, end]));
  const sorted = [...ranges].sort(
    (a, b) => a.partition - b.partition || (a.start < b.start ? -1 : a.start > b.start ? 1 : 0),
  );
  return sorted.map((range, index) => {
    const next = sorted[index + 1];
    const end = next?.partition === range.partition ? next.start : (ends.get(range.partition) ?? range.start);
    return { ...range, end };
  });
}
