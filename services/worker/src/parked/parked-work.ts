/**
 * One turn of the parked records of a held range: those that are due are read again, tried once, and settled or parked again
 * by one step of the store. A crash in between repeats at most this batch, for the parked set changes only with that step.
 */
import type { LostInterval } from '@tidemark/cursors';
import { OnLost } from '@tidemark/jobs';
import { ErrorClass, NO_COUNTS, type Offset, TidemarkError } from '@tidemark/keyspace';
import type { LogReader, LogRecord, ReadAnswer, Source } from '@tidemark/log';
import type { LetGo } from '../lease/grant.ts';
import type { SettleStep } from '../lease/moves.ts';
import { PARKED_BATCH_MS, PARKED_BATCH_RECORDS } from '../limits.ts';
import type { Handling, RunEnding } from '../run/handling.ts';
import { prepareRun } from '../run/prepare-run.ts';
import { Run } from '../run/run.ts';
import { countSettled } from '../worker-metrics.ts';
import { ParkedBatch } from './parked-batch.ts';
import type { ParkedEntry, ParkedSet } from './parked-set.ts';
import { intervalsOf, type Reread, reread } from './reread.ts';

export type ParkedTurn =
  | { readonly kind: 'over'; readonly ending: RunEnding; readonly wasCalled: boolean }
  /** Some are gone, and the job wants to be stopped then. */
  | { readonly kind: 'gone'; readonly lost: readonly LostInterval[] }
  | Extract<Reread, { kind: 'refused' }>
  | Unreadable
  | LetGo;

interface Unreadable {
  readonly kind: 'log unreadable';
  readonly error: unknown;
}

export interface ParkedWorkOptions {
  readonly handling: Handling;
  readonly parked: ParkedSet;
  readonly source: Source;
  /** A reader of its own: the slot's other one is reading ahead. */
  readonly openReader: () => LogReader;
}

const OVER: ParkedTurn = { kind: 'over', ending: { kind: 'complete' }, wasCalled: false };

export class ParkedWork {
  readonly #options: ParkedWorkOptions;
  #isInHand = false;

  constructor(options: ParkedWorkOptions) {
    this.#options = options;
  }

  /** Records were handed out, and the store has not accepted what came of them. */
  get isInHand(): boolean {
    return this.#isInHand;
  }

  async turn(limit: number): Promise<ParkedTurn> {
    const { handling, parked } = this.#options;
    const { held, job, clock } = handling;
    // Nothing is claimed for it, so a job that drains must be asked for.
    const confirmed = await held.confirm();
    if (confirmed.kind === 'let go') return confirmed;
    const due = parked.due(clock.now().monotonicMs, limit);
    const answer = await this.#read(due.map(({ offset }) => offset));
    if (answer.kind !== 'read') return answer;
    if (answer.gone.length > 0) {
      if (job.onLost === OnLost.stop) return await this.#gone();
      const passed = await this.#passGone(answer.gone);
      if (passed.kind === 'let go') return passed;
    }
    const present = due.flatMap((entry) => {
      const record = answer.records.get(entry.offset);
      return record === undefined ? [] : [{ entry, record }];
    });
    return present.length === 0 ? OVER : await this.#retry(present);
  }

  /** All that is missing when the log start has passed the cursor: whatever is parked lies below it, and is gone, too. */
  lostWith(lost: readonly LostInterval[]): readonly LostInterval[] {
    return lost.length === 0 ? lost : [...intervalsOf(this.#options.parked.storedOffsets()), ...lost];
  }

  /** The range is about to be stopped for good: whoever reads its note must learn of all that is missing, due or not. */
  async #gone(): Promise<ParkedTurn> {
    const gone: Offset[] = [];
    let left = this.#options.parked.storedOffsets();
    while (left.length > 0) {
      const answer = await this.#read(left.slice(0, PARKED_BATCH_RECORDS));
      if (answer.kind !== 'read') return answer;
      gone.push(...answer.gone);
      const seen = new Set([...answer.records.keys(), ...answer.gone]);
      left = left.filter((offset) => !seen.has(offset));
    }
    const ahead = await this.#aheadOfCursor();
    if (ahead.kind === 'log unreadable') return ahead;
    const missing = ahead.kind === 'lost' ? [{ first: ahead.first, last: ahead.last }] : [];
    return { kind: 'gone', lost: [...intervalsOf(gone), ...missing] };
  }

  /** The log start may have passed the cursor, too. */
  async #aheadOfCursor(): Promise<ReadAnswer | Unreadable | { readonly kind: 'nothing' }> {
    const { handling, source, openReader } = this.#options;
    const { held, job, signals } = handling;
    if (held.cursor >= held.end) return { kind: 'nothing' };
    const place = { source, cursor: held.cursor, end: held.end };
    const limits = { recordsMax: 1, bytesMax: job.chunkBytes, waitMs: 0 };
    return await readable(() => openReader().read({ ...place, ...limits, signal: signals.letGo }));
  }

  #read(offsets: readonly Offset[]): Promise<Reread | Unreadable> {
    const { handling, source, openReader } = this.#options;
    const { job, signals } = handling;
    const signal = AbortSignal.any([signals.stop, signals.letGo]);
    return readable(() => reread({ reader: openReader(), source, offsets, bytesMax: job.chunkBytes, signal }));
  }

  async #retry(present: readonly { readonly entry: ParkedEntry; readonly record: LogRecord }[]): Promise<ParkedTurn> {
    const { handling } = this.#options;
    const { job, random, clock } = handling;
    // Not by the stop signal: an attempt that outlasts the turn must count all the same, else a hanging one never would.
    const endMs = clock.now().monotonicMs + PARKED_BATCH_MS;
    const isTimeUp = (): boolean => clock.now().monotonicMs >= endMs;
    const batch = new ParkedBatch({ job, entries: present.map(({ entry }) => entry), random, isTimeUp });
    const prepared = await prepareRun(handling, {
      records: present.map(({ record }) => record),
      settlements: batch,
      policy: batch,
      // Each for itself: a batch that fails would say nothing of its records.
      recordsMax: () => 1,
    });
    this.#isInHand = true;
    const ending = prepared instanceof Run ? await prepared.run() : prepared;
    const step = ending.kind === 'fenced' ? batch.withdrawn() : batch.step();
    if (step !== undefined) {
      const settled = await this.#settle(step);
      if (settled.kind === 'let go') return settled;
    }
    this.#isInHand = false;
    return { kind: 'over', ending, wasCalled: prepared instanceof Run && prepared.startedCount > 0 };
  }

  async #passGone(gone: readonly Offset[]): Promise<{ readonly kind: 'settled' } | LetGo> {
    const { job, held, logger } = this.#options.handling;
    const lost = BigInt(gone.length);
    const passed = intervalsOf(gone);
    logger.warn({ jobId: job.jobId, rangeId: held.rangeId, lost, parked: passed }, 'range.lost_passed');
    return await this.#settle({ settled: gone, again: [], add: { ...NO_COUNTS, parked: -lost, lost }, passed });
  }

  async #settle(step: SettleStep): Promise<{ readonly kind: 'settled' } | LetGo> {
    const { handling, parked } = this.#options;
    const { held, clock, metrics, logger } = handling;
    const answer = await held.settle(step);
    if (answer.kind === 'settled') {
      parked.settled(step.settled, step.again, clock.now().monotonicMs);
      countSettled(metrics, step);
    }
    logger.debug(
      { rangeId: held.rangeId, settled: step.settled.length, again: step.again.length, answer: answer.kind },
      'parked.settled',
    );
    return answer;
  }
}

async function readable<Answer>(read: () => Promise<Answer>): Promise<Answer | Unreadable> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.class === ErrorClass.bug) throw error;
    return { kind: 'log unreadable', error };
  }
}
