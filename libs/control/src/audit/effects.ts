/**
 * What a sink holds of the records of a window: told by the sink itself in the order of the log, or asked for batch by batch.
 * Either way hundreds of millions of records are compared in the memory of a page.
 */
import { describeError, ErrorClass, orAborted, TidemarkError } from '@tidemark/keyspace';
import type { LogRecord } from '@tidemark/log';
import { ASK_FAILURES_MAX } from '../limits.ts';

/** How often the effect of a record is in the sink. */
export interface Effect {
  readonly partition: number;
  readonly offset: bigint;
  readonly count: bigint;
}

/** What is known of the effect of one record. */
export type RecordEffect =
  | { readonly kind: 'found'; readonly count: bigint }
  | { readonly kind: 'missing' }
  /** Missing by a rule that still shows. */
  | { readonly kind: 'none due' }
  | { readonly kind: 'unknown'; readonly reason: string };

export interface EffectSource {
  /** Partitions and offsets must be asked for in their order, so ranges are read one after the other. */
  readonly isOrdered: boolean;
  /** One answer for each record, in their order. A throw ends the audit. */
  effectsOf(partition: number, records: readonly LogRecord[]): Promise<readonly RecordEffect[]>;
}

/**
 * `effects` in the order of partition and offset, one for each record. Those of records that nobody asks for are passed over:
 * a sink may hold those of other jobs.
 */
export function orderedEffects(effects: AsyncIterable<Effect>): EffectSource {
  const walk = new EffectWalk(effects);
  return {
    isOrdered: true,
    async effectsOf(partition, records) {
      const answers: RecordEffect[] = [];
      for (const { offset } of records) {
        const count = await walk.countAt(partition, offset);
        answers.push(count > 0n ? { kind: 'found', count } : { kind: 'missing' });
      }
      return answers;
    },
  };
}

export interface AskOptions {
  /** Of one call. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * `ask` may fail, or not answer in time: its records are then unknown, with the reason, and the audit goes on with the next
 * ones. When that happens too often in a row nobody is asked any more, for then it is down and not the records that are at
 * fault. Throws TidemarkError `unavailable` (AUDIT_STOPPED) once `signal` is aborted, whether `ask` heeds its own or not.
 */
export function askedEffects(
  ask: (partition: number, records: readonly LogRecord[], signal: AbortSignal) => Promise<readonly RecordEffect[]>,
  { timeoutMs, signal }: AskOptions,
): EffectSource {
  let failuresInRow = 0;
  let lastFailure = '';
  return {
    isOrdered: false,
    async effectsOf(partition, records) {
      if (records.length === 0) return [];
      if (failuresInRow >= ASK_FAILURES_MAX)
        return allUnknown(records, `not asked after ${ASK_FAILURES_MAX} failures in a row, the last: ${lastFailure}`);
      const late = AbortSignal.timeout(timeoutMs);
      const over = signal === undefined ? late : AbortSignal.any([signal, late]);
      try {
        const answers = await orAborted(ask(partition, records, over), over);
        failuresInRow = 0;
        return answers;
      } catch (error) {
        if (signal?.aborted === true) throw stopped(error);
        failuresInRow += 1;
        lastFailure = late.aborted ? `no answer within ${timeoutMs} ms` : describeError(error);
        return allUnknown(records, lastFailure);
      }
    },
  };
}

function allUnknown(records: readonly LogRecord[], reason: string): readonly RecordEffect[] {
  return records.map(() => ({ kind: 'unknown', reason }));
}

function stopped(cause: unknown): TidemarkError {
  return new TidemarkError({
    code: 'AUDIT_STOPPED',
    class: ErrorClass.unavailable,
    message: 'the audit was stopped before its end',
    cause,
  });
}

/** Whoever asks must ask in the order of the effects. */
class EffectWalk {
  readonly #effects: AsyncIterator<Effect>;
  #next: Effect | undefined;
  #isOver = false;

  constructor(effects: AsyncIterable<Effect>) {
    this.#effects = effects[Symbol.asyncIterator]();
  }

  /** 0 without an effect. */
  async countAt(partition: number, offset: bigint): Promise<bigint> {
    for (;;) {
      if (this.#next === undefined && !this.#isOver) {
        const step = await this.#effects.next();
        if (step.done === true) this.#isOver = true;
        else this.#next = step.value;
      }
      const next = this.#next;
      if (next === undefined || next.partition > partition || (next.partition === partition && next.offset > offset))
        return 0n;
      this.#next = undefined;
      if (next.partition === partition && next.offset === offset) return next.count;
    }
  }
}
