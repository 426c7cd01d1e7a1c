/** A range in its three shapes: planned, as the store shows it, and as Kafka keeps it. */
import type { LostOffsets, RangeCheckpoint } from '@tidemark/contracts';
import type { JobInstall, LostInterval, RangeState } from '@tidemark/cursors';
import { type ClosedRange, deriveEnds, exhaustedIn, type PlannedRange, rangeOfCheckpoint } from '@tidemark/jobs';
import { isEmpty, NO_COUNTS, type PartitionWindow, RangeStatus } from '@tidemark/keyspace';

/** What is written with the pin: nothing is settled, nothing was handed out. */
export function firstCheckpoint(jobId: string, range: PlannedRange, atMs: bigint): RangeCheckpoint {
  return {
    formatVersion: 1,
    jobId,
    partition: range.partition,
    start: range.start,
    cursor: range.start,
    horizon: range.start,
    status: RangeStatus.open,
    note: '',
    counters: NO_COUNTS,
    lost: [],
    passed: [],
    parked: [],
    token: '',
    version: 0n,
    atMs,
  };
}

export function checkpointOf(jobId: string, range: RangeState, atMs: bigint): RangeCheckpoint {
  const { partition, start, cursor, horizon, status, counters, token, version } = range;
  // Whoever holds the range tries the record anew: the note is of the attempt before, and no answer to what comes of this one.
  const note = range.owner !== '' && exhaustedIn(range.note) !== undefined ? '' : range.note;
  const inPartition = ({ first, last }: LostInterval): LostOffsets => ({ partition, first, last });
  const lost = range.lost.map(inPartition);
  const passed = range.passed.map(inPartition);
  const parked = range.parked.map((record) => ({ ...record, dueAtMs: BigInt(record.dueAtMs) }));
  return {
    formatVersion: 1,
    jobId,
    partition,
    start,
    cursor,
    horizon,
    status,
    note,
    counters,
    lost,
    passed,
    parked,
    token,
    version,
    atMs,
  };
}

/** Ranges from checkpoints, with derived ends: what a job amounts to when the store cannot be asked any more. */
export function rangesOfCheckpoints(
  windows: readonly PartitionWindow[],
  checkpoints: Iterable<RangeCheckpoint>,
): readonly ClosedRange[] {
  return deriveEnds(windows, [...checkpoints].map(rangeOfCheckpoint));
}

/** The store needs the ends of the partitions that have ranges; an empty window has none. */
export function endsOf(windows: readonly PartitionWindow[]): JobInstall['ends'] {
  return windows.filter((window) => !isEmpty(window)).map(({ partition, end }) => ({ partition, end }));
}
