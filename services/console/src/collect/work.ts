/** The cursor store: ranges of the jobs that run, and the workers that announced themselves. */
import type { JobState } from '@tidemark/contracts';
import { type Crew, isOver, jobVerdictOf } from '@tidemark/control';
import type { RangeState } from '@tidemark/cursors';
import { JOBS_FOLLOWED_MAX } from '../limits.ts';
import type { JobStates } from './job-states.ts';
import type { ConsoleParts } from './parts.ts';

export interface Work extends Crew {
  /** Of followed jobs; without an entry: the store does not hold the job completely. */
  readonly ranges: ReadonlyMap<string, readonly RangeState[]>;
  /** Jobs that were asked for. */
  readonly followed: ReadonlySet<string>;
  /** Jobs that may have ranges, and were not asked for because there are too many. */
  readonly jobsOmitted: number;
}

export function isActive(state: JobState): boolean {
  return !isOver(jobVerdictOf(state));
}

/** Those that may have ranges, newest first. */
export function followableJobs(states: JobStates): readonly JobState[] {
  return [...states.values()]
    .filter((state) => state.pin !== null && isActive(state))
    .sort((a, b) => Number(b.requestedAtMs - a.requestedAtMs));
}

/** Those that are asked for, and how many are not because there are too many. */
export function followedJobs(states: JobStates): { readonly jobs: readonly JobState[]; readonly omitted: number } {
  const jobs = followableJobs(states);
  return { jobs: jobs.slice(0, JOBS_FOLLOWED_MAX), omitted: Math.max(0, jobs.length - JOBS_FOLLOWED_MAX) };
}

export async function lookAtWork(parts: Pick<ConsoleParts, 'cursors'>, states: JobStates): Promise<Work> {
  const { store, schedule } = await parts.cursors();
  const [{ nowMs, workers }, hints] = await Promise.all([schedule.workers(), schedule.waiting()]);
  const { jobs: followed, omitted } = followedJobs(states);
  const snapshots = await Promise.all(followed.map(({ jobId }) => store.snapshot(jobId)));
  const ranges = new Map<string, readonly RangeState[]>();
  for (const [index, { jobId }] of followed.entries()) {
    const snapshot = snapshots[index];
    if (snapshot !== undefined) ranges.set(jobId, snapshot.ranges);
  }
  return {
    storeNowMs: nowMs,
    workers,
    hints,
    ranges,
    followed: new Set(followed.map(({ jobId }) => jobId)),
    jobsOmitted: omitted,
  };
}
