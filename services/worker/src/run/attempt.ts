/** One call of a handler: its context, its time limit. */

import type { HandlerContext } from '@tidemark/handlers';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';

export interface AttemptScope {
  readonly jobId: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly rangeId: string;
  readonly token: string;
  readonly log: HandlerContext['log'];
}

/** The abort controller is made only for handlers that ask for the signal: most attempts end before anything aborts. */
export class AttemptContext implements HandlerContext {
  readonly jobId: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly rangeId: string;
  readonly token: string;
  readonly log: HandlerContext['log'];
  readonly attempt: number;
  #controller: AbortController | undefined;
  #expired = false;

  constructor(scope: AttemptScope, attempt: number) {
    this.jobId = scope.jobId;
    this.parameters = scope.parameters;
    this.rangeId = scope.rangeId;
    this.token = scope.token;
    this.log = scope.log;
    this.attempt = attempt;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#expired) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  expire(): void {
    this.#expired = true;
    this.#controller?.abort();
  }
}

/** Settles as the promise does, or rejects with TidemarkError `transient` (HANDLER_TIMEOUT) and aborts the attempt's signal. */
export function withTimeout<T>(answer: PromiseLike<T>, context: AttemptContext, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      context.expire();
      reject(timedOut(timeoutMs));
    }, timeoutMs);
    answer.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** Whoever throws it, an attempt ran out of time. */
export const HANDLER_TIMEOUT = 'HANDLER_TIMEOUT';

export function isTimeout(error: unknown): boolean {
  return error instanceof TidemarkError && error.code === HANDLER_TIMEOUT;
}

function timedOut(timeoutMs: number): TidemarkError {
  return new TidemarkError({
    code: HANDLER_TIMEOUT,
    class: ErrorClass.transient,
    message: `the handler did not answer within ${timeoutMs} ms`,
  });
}

export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | undefined)?.then === 'function';
}
