/** What breaks the promise of the floor in what was seen. Pure. */
import type { JobState, LostOffsets, SeriesState } from '@tidemark/contracts';
import { lowestOf, type Need, type Place } from './needs.ts';

/**
 * One look at a partition. `lowWatermark` was read first and `needs` after it. Both only grow: what was gone at the first
 * instant must not be needed at any later one, so a low watermark above a need is never the doing of time alone. Read the
 * other way round, a need that grew in between would look like a broken promise.
 */
export interface Look extends Place {
  readonly lowWatermark: bigint;
  /** Of jobs, series and groups. */
  readonly needs: readonly Need[];
}

export function breachesOf({ topic, partition, lowWatermark, needs }: Look): readonly string[] {
  return needs
    .filter(({ offset }) => lowWatermark > offset)
    .map(
      ({ holder, offset }) =>
        `${topic}/${partition} begins at ${lowWatermark}, and ${holder} still needs it from ${offset} on`,
    );
}

/** Something was cut here, and exactly as far as somebody allows. */
export function isAtFloor({ lowWatermark, needs }: Look): boolean {
  return lowWatermark > 0n && lowestOf(needs.map(({ offset }) => offset)) === lowWatermark;
}

/** Where the log must begin when all is quiet and everything is older than the policy asks for. */
export function quietLowWatermark(needs: readonly Need[], highWatermark: bigint): bigint {
  return lowestOf([highWatermark, ...needs.map(({ offset }) => offset)]) ?? highWatermark;
}

/** A series that was created on an empty topic: its runs tile every partition from its beginning, run by run. */
export function seriesFaults(series: SeriesState, states: ReadonlyMap<string, JobState>): readonly string[] {
  const faults: string[] = [];
  const ends = new Map<number, bigint>();
  for (let number = 1n; number <= series.runs; number++) {
    const jobId = `${series.series}-${number}`;
    const pin = states.get(jobId)?.pin;
    if (pin === null || pin === undefined) {
      faults.push(`run ${jobId} has no window`);
      continue;
    }
    for (const { partition, start, end } of pin.partitions) {
      const before = ends.get(partition) ?? -1n;
      if (start > before)
        faults.push(`offsets ${before + 1n} to ${start} of partition ${partition} are in no run before ${jobId}`);
      if (start < before)
        faults.push(`offsets ${start + 1n} to ${before} of partition ${partition} are in ${jobId} once more`);
      ends.set(partition, end);
    }
  }
  for (const { partition, end } of series.partitions) {
    const last = ends.get(partition) ?? -1n;
    if (end !== last)
      faults.push(`the series says that partition ${partition} is covered up to ${end}, its runs go up to ${last}`);
  }
  return faults;
}

/** Records of `[first, before)` that were not delivered, as intervals: what a job must report as lost when somebody deleted them. */
export function undelivered(window: {
  readonly partition: number;
  readonly first: bigint;
  readonly before: bigint;
  readonly delivered: ReadonlySet<bigint>;
}): readonly LostOffsets[] {
  const { partition, first, before, delivered } = window;
  const intervals: LostOffsets[] = [];
  for (let offset = first; offset < before; offset++) {
    if (delivered.has(offset)) continue;
    const last = intervals.at(-1);
    if (last?.last === offset - 1n) intervals[intervals.length - 1] = { ...last, last: offset };
    else intervals.push({ partition, first: offset, last: offset });
  }
  return intervals;
}

/** Why a job that is over did not end as it must; a race with the guard may be lost before the job is accepted. */
export function endFault({ jobId, state, reason }: JobState): string | undefined {
  if (state === 'COMPLETED' || (state === 'REFUSED' && LOST_RACE.test(reason))) return undefined;
  return `${jobId} is ${state}: ${reason}`;
}

const LOST_RACE = /^(RETENTION_WAS_FASTER|LOG_BEING_CUT): /;
