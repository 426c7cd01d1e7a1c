/**
 * What the log must still keep, as whoever reads Kafka alone can tell: from the durable states of jobs and series and the
 * newest checkpoints. Written from the promise, not from what the distributor makes of it. Pure.
 */
import type { JobState, RangeCheckpoint, SeriesState } from '@tidemark/contracts';
import { isHeld, isTerminal, JobPhase } from '@tidemark/jobs';

export interface Durable {
  readonly states: ReadonlyMap<string, JobState>;
  readonly series: ReadonlyMap<string, SeriesState>;
  /** By job id, the newest of each range. */
  readonly checkpoints: ReadonlyMap<string, readonly RangeCheckpoint[]>;
}

export interface Place {
  readonly topic: string;
  readonly partition: number;
}

export interface Need {
  readonly holder: string;
  /** The lowest offset that is still needed. */
  readonly offset: bigint;
}

export function needsAt(durable: Durable, place: Place): readonly Need[] {
  const needs: Need[] = [];
  for (const state of durable.states.values()) {
    const offset = neededByJob(state, durable.checkpoints.get(state.jobId) ?? [], place);
    if (offset !== undefined) needs.push({ holder: state.jobId, offset });
  }
  for (const { series, status, definition, partitions } of durable.series.values()) {
    if (!isHeld({ status }) || definition.request.topic !== place.topic) continue;
    const end = partitions.find(({ partition }) => partition === place.partition)?.end ?? -1n;
    needs.push({ holder: `series:${series}`, offset: end + 1n });
  }
  return needs;
}

/**
 * A job that is not accepted yet may still be refused, so it is promised nothing; but the run of a series is held by the
 * series until it is.
 */
function neededByJob(
  { state, pin, request }: JobState,
  ranges: readonly RangeCheckpoint[],
  { topic, partition }: Place,
): bigint | undefined {
  const isPromised = state === JobPhase.pinning ? request.series !== '' : !isTerminal(state);
  const window = pin?.partitions.find((each) => each.partition === partition);
  if (!isPromised || request.topic !== topic || window === undefined || window.end <= window.start) return undefined;
  const own = ranges.filter((range) => range.partition === partition);
  if (own.length === 0) return window.start + 1n;
  const open = own.filter(({ status }) => status === 'open');
  return lowestOf(open.flatMap(({ cursor, parked }) => [cursor + 1n, ...parked.map(({ offset }) => offset)]));
}

export function lowestOf(offsets: readonly bigint[]): bigint | undefined {
  let lowest: bigint | undefined;
  for (const offset of offsets) if (lowest === undefined || offset < lowest) lowest = offset;
  return lowest;
}
