/** Waiting for a dependency that is down: backoff with jitter, said once when it begins and once when it is over. */
import { ErrorClass, monotonicNowMs, retrying, TidemarkError } from '@tidemark/keyspace';
import type { Logger } from '@tidemark/observability';
import { BACKOFF_BASE_MS, BACKOFF_MAX_MS } from './limits.ts';

export interface PatientCall {
  readonly dependency: string;
  /** Whether the call may be repeated at all; by default yes. */
  readonly isRepeatable?: () => boolean;
}

/** Repeats the call while it says `unavailable`, until it answers, fails otherwise, or the signal is aborted. */
export type Patience = <T>(call: PatientCall, attempt: () => Promise<T>) => Promise<T>;

export function createPatience(options: {
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** False while the program starts: then a person waits for the answer, and a service that is down is named at once. */
  readonly isPatient: () => boolean;
}): Patience {
  const { logger, signal, isPatient } = options;
  return async ({ dependency, isRepeatable = () => true }, attempt) => {
    let downSinceMs: number | undefined;
    const answer = await retrying(
      {
        // No number of failures makes giving up right: the position stays, and a person sees that we wait.
        attemptsMax: Number.MAX_SAFE_INTEGER,
        baseMs: BACKOFF_BASE_MS,
        maxMs: BACKOFF_MAX_MS,
        signal,
        isRetryable: (error) => isPatient() && isUnavailable(error) && isRepeatable(),
        onRetry: ({ error }) => {
          if (downSinceMs !== undefined) return;
          downSinceMs = monotonicNowMs();
          logger.warn({ dependency, error }, 'dependency.down');
        },
      },
      attempt,
    );
    if (downSinceMs !== undefined) {
      logger.info({ dependency, downMs: Math.round(monotonicNowMs() - downSinceMs) }, 'dependency.back');
    }
    return answer;
  };
}

function isUnavailable(error: unknown): boolean {
  return error instanceof TidemarkError && error.class === ErrorClass.unavailable;
}
