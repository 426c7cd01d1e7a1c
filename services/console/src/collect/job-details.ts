/** One job with its ranges: of a running one from the last round, of an ended one from the checkpoints, which are read once. */
import type { JobState } from '@tidemark/contracts';
import { checkpointedRanges, isOver, jobVerdictOf } from '@tidemark/control';
import { describeError } from '@tidemark/keyspace';
import { ENDED_JOBS_KEPT } from '../limits.ts';
import { type JobRanges, jobDetailView } from '../view/job-detail.ts';
import type { JobDetail } from '../view/schemas.ts';
import type { Sight } from './collector.ts';
import type { ConsoleParts } from './parts.ts';

export type JobAnswer =
  | { readonly kind: 'job'; readonly detail: JobDetail }
  | { readonly kind: 'unknown job' }
  /** Nobody can say now. */
  | { readonly kind: 'unavailable'; readonly reason: string };

export interface JobDetails {
  of(sight: Sight, jobId: string): Promise<JobAnswer>;
}

const NO_RANGES: JobRanges = { source: 'none', ranges: [] };

export function createJobDetails(parts: Pick<ConsoleParts, 'jobLog'>): JobDetails {
  const ended = new Map<string, Promise<JobRanges>>();

  /** A few are kept, the one that was asked for last the longest. */
  function rangesOfEnded(state: JobState): Promise<JobRanges> {
    const key = `${state.jobId} ${state.updatedAtMs}`;
    const ranges = ended.get(key) ?? readEnded(parts, state);
    ended.delete(key);
    ended.set(key, ranges);
    ranges.catch(() => ended.delete(key));
    for (const oldest of [...ended.keys()].slice(0, Math.max(0, ended.size - ENDED_JOBS_KEPT))) ended.delete(oldest);
    return ranges;
  }

  return {
    async of(sight, jobId) {
      if (sight.states.kind === 'unknown') return { kind: 'unavailable', reason: sight.states.reason };
      const state = sight.states.value.get(jobId);
      if (state === undefined) return { kind: 'unknown job' };
      try {
        const ranges = isOver(jobVerdictOf(state)) ? await rangesOfEnded(state) : rangesOfActive(sight, jobId);
        return { kind: 'job', detail: jobDetailView(sight, state, ranges) };
      } catch (error) {
        return { kind: 'unavailable', reason: describeError(error) };
      }
    },
  };
}

function rangesOfActive({ work }: Sight, jobId: string): JobRanges {
  const ranges = work.kind === 'known' ? work.value.ranges.get(jobId) : undefined;
  return ranges === undefined ? NO_RANGES : { source: 'store', ranges };
}

/** The store has forgotten a job that is over. */
async function readEnded({ jobLog }: Pick<ConsoleParts, 'jobLog'>, { jobId, pin }: JobState): Promise<JobRanges> {
  const ranges = pin === null ? [] : await checkpointedRanges(jobLog, jobId, pin);
  return ranges.length === 0 ? NO_RANGES : { source: 'checkpoints', ranges };
}
