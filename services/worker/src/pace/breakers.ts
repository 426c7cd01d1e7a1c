/**
 * The breakers of a worker process: one for each (handler, dependency) that was down lately. While one is open no slot
 * starts a chunk of that handler or takes a range for it; then one chunk at a time probes. No attempt is spent meanwhile.
 */
import type { Logger } from '@tidemark/observability';
import type { Clock } from '../clock.ts';
import { BREAKERS_PER_HANDLER_MAX, PROBE_LOOK_MS } from '../limits.ts';
import { afterFailure, type BreakerState, CLOSED, waitOf } from './breaker.ts';

/** Whether the next chunk may start; what came of it is said with it. */
export type Pass =
  | { readonly kind: 'free' }
  /** This chunk finds out whether the dependency is back. */
  | { readonly kind: 'probe'; readonly dependency: string }
  | Waiting;

export interface Waiting {
  readonly kind: 'wait';
  readonly dependency: string;
  readonly forMs: number;
}

const FREE: Pass = { kind: 'free' };

export class Breakers {
  readonly #options: { readonly clock: Clock; readonly random: () => number; readonly logger: Logger };
  /** By handler, then dependency; what is closed is not in it. A Map keeps the order of insertion. */
  readonly #open = new Map<string, Map<string, BreakerState>>();

  constructor(options: { readonly clock: Clock; readonly random: () => number; readonly logger: Logger }) {
    this.#options = options;
  }

  /** Asked before a range is taken: undefined when a chunk of this handler could start. */
  waiting(handler: string): Waiting | undefined {
    const nowMs = this.#nowMs();
    let longest: Waiting | undefined;
    for (const [dependency, state] of this.#open.get(handler) ?? []) {
      const forMs = waitOf(state, nowMs, PROBE_LOOK_MS);
      if (forMs > (longest?.forMs ?? 0)) longest = { kind: 'wait', dependency, forMs };
    }
    return longest;
  }

  /** Asked right before a chunk starts. `leave` must follow. */
  enter(handler: string): Pass {
    const open = this.#open.get(handler);
    if (open === undefined) return FREE;
    const waiting = this.waiting(handler);
    if (waiting !== undefined) return waiting;
    // The chunk passes all of them or tells which one is still down.
    for (const [dependency, state] of open)
      if (state.kind === 'open') open.set(dependency, { kind: 'probing', failures: state.failures });
    return { kind: 'probe', dependency: open.keys().next().value ?? '' };
  }

  failed(handler: string, pass: Pass, fault: { readonly dependency: string; readonly message: string }): void {
    const { random, logger } = this.#options;
    const open = this.#open.get(handler) ?? new Map<string, BreakerState>();
    this.#open.set(handler, open);
    const { dependency, message } = fault;
    const before = open.get(dependency) ?? CLOSED;
    open.set(dependency, afterFailure(before, { isProbe: pass.kind === 'probe', nowMs: this.#nowMs(), random }));
    if (before.kind === 'closed') logger.warn({ handler, dependency, reason: message }, 'breaker.opened');
    const oldest = open.keys().next();
    if (open.size > BREAKERS_PER_HANDLER_MAX && !oldest.done) open.delete(oldest.value);
  }

  completed(handler: string, pass: Pass): void {
    if (pass.kind !== 'probe') return;
    for (const dependency of this.#open.get(handler)?.keys() ?? [])
      this.#options.logger.info({ handler, dependency }, 'breaker.closed');
    this.#open.delete(handler);
  }

  /** The chunk is over, or did not come about: then the next one probes. */
  leave(handler: string, pass: Pass): void {
    if (pass.kind !== 'probe') return;
    const open = this.#open.get(handler);
    for (const [dependency, state] of open ?? [])
      if (state.kind === 'probing')
        open?.set(dependency, { kind: 'open', failures: state.failures, untilMs: this.#nowMs() });
  }

  #nowMs(): number {
    return this.#options.clock.now().monotonicMs;
  }
}
