/** Waiting: backoff with jitter, sleeps that an abort ends, bounded retries. The one place here with a clock and a timer. */
import { isOutage } from './errors.ts';
import { TIMER_MS_MAX } from './limits.ts';

/** Milliseconds that only grow, also when somebody sets the clock. Only differences mean anything. */
export function monotonicNowMs(): number {
  return performance.now();
}

export interface BackoffOptions {
  /** Upper bound of the first wait. */
  readonly baseMs: number;
  /** Upper bound of any wait. */
  readonly maxMs: number;
  /** 1 after the first failure. */
  readonly attempt: number;
  /** The part of the bound that is waited whatever chance says; default 0. For a caller with few tries, which must last. */
  readonly fixedPart?: number;
  /** In [0, 1), e.g. Math.random. */
  readonly random: () => number;
}

/**
 * Milliseconds to wait before the next try: uniform in [0, min(maxMs, baseMs * 2^(attempt-1))], or only in
 * the upper part of it. Full jitter spreads a
 * crowd that failed at the same instant better than a jittered constant does (AWS Architecture Blog, "Exponential
 * Backoff And Jitter").
 */
export function backoff(options: BackoffOptions): number {
  const ceiling = Math.min(options.maxMs, options.baseMs * 2 ** Math.max(0, options.attempt - 1));
  const fixedMs = Math.floor(ceiling * (options.fixedPart ?? 0));
  return fixedMs + Math.floor(options.random() * (ceiling - fixedMs + 1));
}

/** Resolves after the time, or at once when one of the signals is aborted; it never rejects, so the caller asks the signals. */
export function sleep(ms: number, ...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  if (signals.some((signal) => signal?.aborted)) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, Math.min(ms, TIMER_MS_MAX));
    for (const signal of signals) signal?.addEventListener('abort', finish, { once: true });
  });
}

/** Rejects with the reason of the signal, or with `because`, as soon as that is aborted; the work goes on unheard. */
export async function orAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  because: () => unknown = () => signal.reason,
): Promise<T> {
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(because());
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, givenUp]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

export interface RetryOptions {
  /** Tries in all, the first one included. */
  readonly attemptsMax: number;
  readonly baseMs: number;
  readonly maxMs: number;
  readonly signal?: AbortSignal;
  /** Default: TidemarkErrors of class `transient` and `unavailable`. */
  readonly isRetryable?: (error: unknown) => boolean;
  readonly onRetry?: (retry: { readonly error: unknown; readonly attempt: number; readonly waitMs: number }) => void;
  readonly random?: () => number;
  readonly wait?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Runs the operation until it succeeds, fails for good, or the tries or the caller's patience (signal) are used up; then its last error. */
export async function retrying<T>(options: RetryOptions, operation: (attempt: number) => Promise<T>): Promise<T> {
  const { isRetryable = isOutage, random = Math.random, wait = sleep } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      return await operation(attempt);
    } catch (error) {
      if (attempt >= options.attemptsMax || options.signal?.aborted || !isRetryable(error)) throw error;
      const waitMs = backoff({ baseMs: options.baseMs, maxMs: options.maxMs, attempt, random });
      options.onRetry?.({ error, attempt, waitMs });
      await wait(waitMs, options.signal);
      if (options.signal?.aborted) throw error;
    }
  }
}
