import type { JobState } from '@tidemark/contracts';
import type { JobLog } from '@tidemark/jobs';

/**
 * The first state of the job that satisfies the condition, beginning with the present one; undefined when the time is
 * over or the signal is aborted. `onState` hears of every state on the way.
 */
export async function awaitState(
  jobLog: JobLog,
  options: {
    readonly jobId: string;
    readonly until: (state: JobState) => boolean;
    /** The state that is known already: older ones, which the log still shows, and itself are passed over. */
    readonly after?: JobState;
    readonly timeoutMs?: number;
    readonly signal?: AbortSignal;
    readonly onState?: (state: JobState) => void;
  },
): Promise<JobState | undefined> {
  const enough = new AbortController();
  const stops = [enough.signal];
  if (options.signal !== undefined) stops.push(options.signal);
  if (options.timeoutMs !== undefined) stops.push(AbortSignal.timeout(options.timeoutMs));
  let found: JobState | undefined;
  const isNews = options.after === undefined ? () => true : newsAfter(options.after);
  await jobLog.follow((state) => {
    if (state.jobId !== options.jobId || found !== undefined || !isNews(state)) return;
    options.onState?.(state);
    if (!options.until(state)) return;
    found = state;
    enough.abort();
  }, AbortSignal.any(stops));
  return found;
}

/** For the states of one job in the order of the log: whether each comes after the known one. */
export function newsAfter(known: JobState): (seen: JobState) => boolean {
  let hasMet = false;
  return (seen) => {
    // The known one may be gone from a compacted log; whatever is younger comes after it anyhow.
    if (hasMet || seen.updatedAtMs > known.updatedAtMs) return true;
    hasMet = seen.updatedAtMs === known.updatedAtMs && seen.state === known.state;
    return false;
  };
}
