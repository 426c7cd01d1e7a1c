/** A call that the loop tries once a turn, because it has others to serve meanwhile: backoff with jitter between tries. */
import { backoff, monotonicNowMs, type Offset } from '@tidemark/keyspace';
import { BACKOFF_BASE_MS, BACKOFF_MAX_MS } from './limits.ts';

export interface TriesOptions {
  /** Called once, when the waiting begins. */
  readonly onDown: (error: unknown) => void;
  /** Called once, when an answer ends it. */
  readonly onBack: (waitedMs: number) => void;
}

export type Tried<T> =
  | { readonly kind: 'answered'; readonly answer: T }
  | { readonly kind: 'failed'; readonly error: unknown; readonly waitedMs: number };

export interface Tries {
  /** 0 when the next try may be made now. */
  dueInMs(): number;
  /** Throws the error when another try would not go better. */
  once<T>(attempt: () => Promise<T>, isWorthWaiting: (error: unknown) => boolean): Promise<Tried<T>>;
}

/** The first request that is not applied yet. Those behind it wait, too: requests are applied in their order. */
export interface WaitingRequest {
  readonly offset: bigint;
  readonly tries: Tries;
  /** From here on nobody has looked for commands behind it; undefined while one look shows all of them. */
  seenTo: Offset | undefined;
}

export function createTries({ onDown, onBack }: TriesOptions): Tries {
  let sinceMs: number | undefined;
  let failures = 0;
  let dueAtMs = 0;

  const failed = (error: unknown): { readonly kind: 'failed'; readonly error: unknown; readonly waitedMs: number } => {
    const nowMs = monotonicNowMs();
    if (sinceMs === undefined) onDown(error);
    sinceMs ??= nowMs;
    failures += 1;
    const restMs = backoff({ baseMs: BACKOFF_BASE_MS, maxMs: BACKOFF_MAX_MS, attempt: failures, random: Math.random });
    dueAtMs = nowMs + restMs;
    return { kind: 'failed', error, waitedMs: nowMs - sinceMs };
  };
  const answered = <T>(answer: T): { readonly kind: 'answered'; readonly answer: T } => {
    if (sinceMs !== undefined) onBack(Math.round(monotonicNowMs() - sinceMs));
    sinceMs = undefined;
    failures = 0;
    return { kind: 'answered', answer };
  };
  return {
    dueInMs: () => Math.max(0, dueAtMs - monotonicNowMs()),
    once: async (attempt, isWorthWaiting) => {
      try {
        return answered(await attempt());
      } catch (error) {
        if (!isWorthWaiting(error)) throw error;
        return failed(error);
      }
    },
  };
}
