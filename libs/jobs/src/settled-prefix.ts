/** How far a job is settled without a gap: what a reader of its sinks may rely on. Pure. */
import { contiguousPrefix, cursorBefore, type Offset, type PartitionWindow, type RangeRef } from '@tidemark/keyspace';
import { deriveEnds } from './planning.ts';

export interface PrefixRange extends RangeRef {
  readonly cursor: Offset;
  /** In offset order. */
  readonly parked: readonly { readonly offset: Offset }[];
}

export interface SettledPrefix extends PartitionWindow {
  /** Everything in `(start, settledTo]` is settled; it is `start` while the first record is not. */
  readonly settledTo: Offset;
}

/** Of each window, in their order. What was settled ahead, behind a range that is not done or a parked record, does not count until the hole is closed. */
export function settledPrefixOf(
  windows: readonly PartitionWindow[],
  ranges: readonly PrefixRange[],
): readonly SettledPrefix[] {
  const byPartition = Map.groupBy(deriveEnds(windows, ranges), ({ partition }) => partition);
  return windows.map((window) => {
    const own = (byPartition.get(window.partition) ?? []).map((range) => ({ ...range, cursor: settledTo(range) }));
    return { ...window, settledTo: contiguousPrefix(window, own) };
  });
}

function settledTo({ cursor, parked }: PrefixRange): Offset {
  const [lowest] = parked;
  return lowest === undefined ? cursor : cursorBefore(lowest.offset);
}
