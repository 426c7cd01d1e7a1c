/** How long a job may take, by a pace that somebody named or a former job had: pure, and never invented. */
import type { JobState } from '@tidemark/contracts';
import { JobPhase } from '@tidemark/jobs';

/** Records handled a second; those that are only passed (filtered, aborted, compacted away) cost next to nothing. */
export interface KnownPace {
  readonly perSecond: number;
  /** Where it is from, in words for a person. */
  readonly source: string;
}

export type ExpectedTime =
  | { readonly kind: 'about'; readonly seconds: number; readonly perSecond: number; readonly source: string }
  | { readonly kind: 'unknown'; readonly reason: string };

/** Of the newest job of the handler that came to its end; undefined when none has handled a record. */
export function paceOfHandler(states: Iterable<JobState>, handler: string): KnownPace | undefined {
  let newest: { readonly state: JobState; readonly handled: bigint } | undefined;
  for (const state of states) {
    const { totals } = state;
    if (state.request.handler !== handler || state.state !== JobPhase.completed || totals === null) continue;
    const handled = totals.ok + totals.skipped + totals.deadLettered;
    if (handled === 0n || state.ranMs <= 0n) continue;
    if (newest === undefined || state.updatedAtMs > newest.state.updatedAtMs) newest = { state, handled };
  }
  if (newest === undefined) return undefined;
  const { state, handled } = newest;
  const ran = Number(state.ranMs) / 1000;
  return {
    perSecond: Number(handled) / ran,
    source: `job ${state.jobId}, the newest finished one of handler ${handler}: ${handled} records in ${ran} s`,
  };
}

/** `ratePerSecond`: that the job itself asks for and will not exceed; 0 = none. */
export function expectedTime(question: {
  readonly records: bigint | null;
  readonly pace: KnownPace | undefined;
  readonly ratePerSecond: number;
}): ExpectedTime {
  const { records, ratePerSecond } = question;
  if (records === 0n) return { kind: 'about', seconds: 0, perSecond: 0, source: 'there is nothing to handle' };
  const limit = ratePerSecond > 0 ? { perSecond: ratePerSecond, source: 'its own --rate' } : undefined;
  const pace = slower(question.pace, limit);
  if (pace === undefined)
    return {
      kind: 'unknown',
      reason: 'no pace is known: --records-per-second names one, or a job of the handler that has finished',
    };
  if (records === null) return { kind: 'unknown', reason: 'it is not known how many records the window has' };
  return { kind: 'about', seconds: Number(records) / pace.perSecond, ...pace };
}

function slower(pace: KnownPace | undefined, limit: KnownPace | undefined): KnownPace | undefined {
  if (pace === undefined || limit === undefined) return pace ?? limit;
  return pace.perSecond <= limit.perSecond ? pace : limit;
}
