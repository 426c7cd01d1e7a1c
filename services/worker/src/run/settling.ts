/**
 * Brings records to an end, one or a whole chunk at a time: attempt, retries in place, put off or dead-lettered. Whatever is
 * not settled when something halts the run stays open and costs no attempt.
 */

import { type Answer, badAnswer, classifyFault, isAnswer, isOneForEach, type Outcome } from '@tidemark/handlers';
import { OnExhausted } from '@tidemark/jobs';
import { assertNever, sleep } from '@tidemark/keyspace';
import { timeAttempt } from '../worker-metrics.ts';
import { AttemptContext, isPromiseLike, isTimeout, withTimeout } from './attempt.ts';
import type { FaultClass } from './attempt-policy.ts';
import type { RunEnding, RunOptions } from './handling.ts';
import { recordAt } from './record-event.ts';
import { Settlement } from './settlement.ts';

/** One call of the handler with records that are fixed. */
export type Attempt = (context: AttemptContext) => Answer | Promise<Answer>;

/** A fault of the records, or at least of their attempts, after which none follows in place. */
interface Condemning {
  readonly faultClass: 'data' | FaultClass;
  readonly message: string;
}

export interface SettlingOptions
  extends Pick<
    RunOptions,
    'job' | 'partition' | 'handler' | 'scope' | 'records' | 'settlements' | 'policy' | 'sendDeadLetters' | 'metrics'
  > {
  readonly timeoutMs: number;
  readonly callOf: (indexes: readonly number[]) => Attempt;
  readonly halt: (ending: RunEnding) => void;
  readonly ending: () => RunEnding | undefined;
  readonly halted: () => AbortSignal;
  /** The parked set is full: nothing new is started, and what runs comes to its end, in place if it must. */
  readonly onFull: () => void;
  readonly isFull: () => boolean;
}

export class Settling {
  readonly #options: SettlingOptions;
  /** Attempts that have not answered yet. */
  readonly #live = new Set<AttemptContext>();

  constructor(options: SettlingOptions) {
    this.#options = options;
  }

  /** Undefined when the handler answered at once and the records are settled: no promise is made for them then. */
  attempt(indexes: readonly number[]): Promise<void> | undefined {
    const { policy } = this.#options;
    const first = indexes[0] ?? 0;
    if (policy.isWatching && indexes.length === 1 && !this.mayStart(first)) return undefined;
    const before = policy.isWatching && indexes.length === 1 ? policy.attemptsBefore(first) : 0;
    const context = new AttemptContext(this.#options.scope, before + 1);
    let call: Attempt | undefined;
    try {
      call = this.#options.callOf(indexes);
      const answer = call(context);
      if (isPromiseLike(answer)) return this.#finish(indexes, answer, context, call);
      if (this.#settle(indexes, answer)) return undefined;
      return this.#recover(indexes, badAnswer(answer), context, call);
    } catch (error) {
      if (call === undefined) throw error;
      return this.#recover(indexes, error, context, call);
    }
  }

  /** False when the record was put aside, or when nothing may start any more. */
  mayStart(index: number): boolean {
    const answer = this.#options.policy.start(index);
    if (answer === 'full') this.#options.onFull();
    return answer === 'start';
  }

  expireAll(): void {
    for (const context of this.#live) context.expire();
    this.#live.clear();
  }

  async #finish(
    indexes: readonly number[],
    answer: PromiseLike<Answer>,
    context: AttemptContext,
    call: Attempt,
  ): Promise<void> {
    this.#live.add(context);
    // Handlers that answer at once are not timed: looking at the clock would cost more than they do.
    const timed = timeAttempt(this.#options.metrics);
    let outcome: Answer;
    try {
      outcome = await withTimeout(answer, context, this.#options.timeoutMs).finally(timed);
    } catch (error) {
      return await this.#recover(indexes, error, context, call);
    } finally {
      this.#live.delete(context);
    }
    if (!this.#settle(indexes, outcome)) await this.#recover(indexes, badAnswer(outcome), context, call);
  }

  async #recover(indexes: readonly number[], error: unknown, failed: AttemptContext, call: Attempt): Promise<void> {
    const { handler, policy, settlements, halt, halted } = this.#options;
    const fault = classifyFault(error, handler.classify);
    const { attempt } = failed;
    switch (fault.kind) {
      case 'unavailable':
      case 'fenced':
        return halt(fault);
      case 'data':
        return await this.#condemn(indexes, { faultClass: 'data', message: fault.message }, attempt);
      case 'transient':
        break;
      default:
        return assertNever(fault);
    }
    const faultClass = isTimeout(error) ? 'timeout' : 'transient';
    const first = indexes[0] ?? 0;
    const pauseMs = policy.pauseMs(first, { attempt, faultClass });
    if (pauseMs === undefined) return await this.#condemn(indexes, { faultClass, message: fault.message }, attempt);
    await sleep(pauseMs, halted());
    if (this.#options.ending() !== undefined) return;
    settlements.addRetry(first);
    const context = new AttemptContext(this.#options.scope, attempt + 1);
    await this.#finish(indexes, callLater(call, context), context, call);
  }

  /** A batch that failed for good is taken apart: one bad record must not condemn its chunk. */
  async #condemn(indexes: readonly number[], fault: Condemning, attempt: number): Promise<void> {
    const [index, ...more] = indexes;
    if (index === undefined || this.#options.ending() !== undefined) return;
    if (more.length === 0) return await this.#putOffOrBury(index, fault, attempt);
    for (const each of indexes) {
      // Behind one that found no room none of its key may be tried.
      if (this.#options.ending() !== undefined || this.#options.isFull()) return;
      await this.attempt([each]);
    }
  }

  async #putOffOrBury(index: number, { faultClass, message }: Condemning, attempt: number): Promise<void> {
    const { job, policy, halt } = this.#options;
    if (faultClass !== 'data') {
      const answer = policy.putOff(index, { attempt, faultClass });
      if (answer === 'put aside') return;
      if (answer === 'full') return this.#options.onFull();
      if (job.onExhausted === OnExhausted.suspend)
        return halt({ kind: 'exhausted', offset: recordAt(this.#options.records, index).offset, message });
    }
    await this.#bury(index, { faultClass, message }, attempt);
  }

  async #bury(index: number, { faultClass, message }: Condemning, attempt: number): Promise<void> {
    const { job, partition, scope, settlements, sendDeadLetters, halt } = this.#options;
    const { rangeId, token } = scope;
    const { jobId, handler, topic, topicId } = job;
    const place = { jobId, handler, topic, topicId, partition, rangeId, token };
    try {
      await sendDeadLetters([
        { ...place, record: recordAt(this.#options.records, index), attempt, faultClass, error: message },
      ]);
    } catch (error) {
      const refusal = classifyFault(error);
      if (refusal.kind !== 'unavailable') throw error;
      return halt({ ...refusal, kind: 'dead letters refused' });
    }
    settlements.settle(index, Settlement.deadLettered);
  }

  /** False when the answer is neither one outcome for all nor one for each. */
  #settle(indexes: readonly number[], answer: Answer): boolean {
    if (!isAnswer(answer, indexes.length)) return false;
    if (isOneForEach(answer))
      for (const [place, outcome] of answer.entries()) this.#settleOne(indexes[place] ?? 0, outcome);
    else for (const index of indexes) this.#settleOne(index, answer);
    return true;
  }

  #settleOne(index: number, outcome: Outcome): void {
    if (outcome.kind === 'fenced') this.#options.halt({ kind: 'fenced', seen: outcome.seen });
    else this.#options.settlements.settle(index, outcome.kind === 'done' ? Settlement.ok : Settlement.skipped);
  }
}

/** A throw becomes a rejection. */
async function callLater(call: Attempt, context: AttemptContext): Promise<Answer> {
  return await call(context);
}
