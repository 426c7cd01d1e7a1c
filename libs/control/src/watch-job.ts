import { setTimeout as delay } from 'node:timers/promises';
import { newsAfter } from './await-state.ts';
import { isOver, type JobVerdict, jobVerdictOf } from './job-verdict.ts';
import { type JobView, viewJob } from './job-view.ts';
import { WATCH_INTERVAL_MS, WATCH_REST_FACTOR } from './limits.ts';
import type { ControlParts } from './parts.ts';

/**
 * Looks at a job again and again until it is over (or `until` says so), and returns the last look: undefined when no
 * state of the job was ever seen before the signal was aborted.
 */
export async function watchJob(
  parts: Pick<ControlParts, 'jobLog' | 'store' | 'schedule'>,
  options: {
    readonly jobId: string;
    readonly signal: AbortSignal;
    readonly onView: (view: JobView) => void;
    readonly until?: (verdict: JobVerdict) => boolean;
  },
): Promise<JobView | undefined> {
  const { jobId, onView, until = isOver } = options;
  const enough = new AbortController();
  const signal = AbortSignal.any([options.signal, enough.signal]);
  let view: JobView | undefined;
  let newest = (await parts.jobLog.states()).get(jobId);
  const isNews = newest === undefined ? () => true : newsAfter(newest);
  const following = parts.jobLog.follow((state) => {
    if (state.jobId === jobId && isNews(state)) newest = state;
  }, signal);
  try {
    while (!signal.aborted) {
      const startedMs = performance.now();
      if (newest !== undefined) {
        view = await viewJob(parts, newest);
        onView(view);
        if (until(jobVerdictOf(view.state))) break;
      }
      const restMs = Math.max(WATCH_INTERVAL_MS, (performance.now() - startedMs) * WATCH_REST_FACTOR);
      // A follower that fails ends the watch with its error.
      await Promise.race([delay(restMs, undefined, { signal }).catch(() => {}), following]);
    }
    return view;
  } finally {
    enough.abort();
    await following;
  }
}
