import { expect, it } from 'vitest';
import { JOBS_FOLLOWED_MAX } from '../limits.ts';
import { jobState } from '../testing/sights.ts';
import { followedJobs } from './work.ts';

it('L1: the newest active jobs are asked for, and those that are too many are counted', () => {
  const active = Array.from({ length: JOBS_FOLLOWED_MAX + 3 }, (_, index) =>
    jobState({ jobId: `job-${index}`, requestedAtMs: index }),
  );
  const others = [jobState({ jobId: 'ended', state: 'CANCELLED' }), jobState({ jobId: 'not pinned', windows: [] })];
  const { jobs, omitted } = followedJobs(new Map([...active, ...others].map((state) => [state.jobId, state])));
  expect(omitted).toBe(3);
  expect(jobs).toHaveLength(JOBS_FOLLOWED_MAX);
  expect(jobs.at(-1)?.jobId).toBe('job-3');
  expect(followedJobs(new Map(active.slice(0, 5).map((state) => [state.jobId, state]))).omitted).toBe(0);
});
