/**
 * A circuit breaker over one dependency of one handler. Pure: the time is an argument, so that it can be driven by a test
 * and by a simulation; a library's breaker reads the clock by itself and wraps a call that throws, and ours is told
 * outcomes of chunks.
 *
 *   closed --(unavailable)--> open --(pause over, first to ask)--> probing --(chunk complete)--> closed
 *                              ^                                     |  '--(given up)--> open, may be probed at once
 *                              '---(unavailable: a longer pause)-----'
 */
import { assertNever, backoff } from '@tidemark/keyspace';
import { OUTAGE_BASE_MS, OUTAGE_MAX_MS } from '../limits.ts';

export type BreakerState =
  | { readonly kind: 'closed' }
  /** `failures` in a row; each makes the next pause longer. */
  | { readonly kind: 'open'; readonly failures: number; readonly untilMs: number }
  | { readonly kind: 'probing'; readonly failures: number };

export const CLOSED: BreakerState = { kind: 'closed' };

/** Half of the pause is fixed: a breaker that opens for no time would not be one. */
const FIXED_PART = 0.5;

/** Failures of chunks that were under way when it opened say nothing new: only the probe's makes the pause grow. */
export function afterFailure(
  state: BreakerState,
  { isProbe, nowMs, random }: { readonly isProbe: boolean; readonly nowMs: number; readonly random: () => number },
): BreakerState {
  if (state.kind === 'open' || (state.kind === 'probing' && !isProbe)) return state;
  const failures = state.kind === 'probing' ? state.failures + 1 : 1;
  const pause = { baseMs: OUTAGE_BASE_MS, maxMs: OUTAGE_MAX_MS, attempt: failures, fixedPart: FIXED_PART, random };
  return { kind: 'open', failures, untilMs: nowMs + backoff(pause) };
}

/** How long to wait before asking again; 0 = a chunk may start. */
export function waitOf(state: BreakerState, nowMs: number, probePauseMs: number): number {
  switch (state.kind) {
    case 'closed':
      return 0;
    case 'open':
      return Math.max(0, state.untilMs - nowMs);
    case 'probing':
      return probePauseMs;
    default:
      return assertNever(state);
  }
}
