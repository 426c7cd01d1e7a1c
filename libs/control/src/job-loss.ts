/** Which offsets a job has lost so far, of those that it passed and those where it stopped alike. Pure. */
import type { JobState, LostOffsets } from '@tidemark/contracts';
import { type ClosedRange, type JobResult, resultOfRanges } from '@tidemark/jobs';
import { sizeOfIntervals } from '@tidemark/keyspace';

export interface JobLoss {
  /** By partition and offset. */
  readonly places: readonly LostOffsets[];
  /** Lost offsets without a place: they were only counted. */
  readonly unplaced: bigint;
}

/** At the end of a job its state says it, before that its ranges. */
export function lossOf(state: Pick<JobState, 'totals' | 'lost'>, ranges: readonly ClosedRange[]): JobLoss {
  const { totals, lost }: JobResult =
    state.totals === null ? resultOfRanges(ranges) : { totals: state.totals, lost: state.lost };
  return { places: lost, unplaced: totals.lost - sizeOfIntervals(lost) };
}
