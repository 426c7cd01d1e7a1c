/** One slot: looks for a range, works on it, looks again. It has its own reader, because a waiting read blocks its connection. */

import type { Codec } from '@tidemark/contracts';
import type { CallId, CursorStore, Schedule } from '@tidemark/cursors';
import { assertNever, backoff, isOutage, sleep } from '@tidemark/keyspace';
import type { LogCluster, LogReader } from '@tidemark/log';
import type { Logger } from '@tidemark/observability';
import type { Clock } from './clock.ts';
import type { DeadLetters } from './dead-letters/dead-letters.ts';
import type { BlockingCalls } from './handlers/blocking-calls.ts';
import type { HandlerSet } from './handlers/handler-set.ts';
import { HeldRange } from './lease/held-range.ts';
import { OUTAGE_BASE_MS, OUTAGE_MAX_MS, POLL_MS } from './limits.ts';
import type { Breakers } from './pace/breakers.ts';
import type { Turns } from './pace/turns.ts';
import type { RangeEnding } from './range/ending.ts';
import type { FencedRanges } from './range/fenced-ranges.ts';
import { Traversal } from './range/traversal.ts';
import type { Handling } from './run/handling.ts';
import type { Doorbell } from './work/doorbell.ts';
import type { Work, WorkFinder } from './work/find-work.ts';
import { countLetGo, type WorkerMetrics } from './worker-metrics.ts';

/** What all slots of a worker share. */
export interface SlotOptions {
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly store: CursorStore;
  readonly schedule: Schedule;
  readonly finder: WorkFinder;
  readonly handlers: HandlerSet;
  readonly deadLetters: DeadLetters;
  readonly blockingCalls: BlockingCalls;
  readonly fencedRanges: FencedRanges;
  readonly breakers: Breakers;
  readonly turns: Turns;
  readonly doorbell: Doorbell;
  readonly leaseTtlMs: number;
  readonly timeSliceMs: number;
  readonly pollMs?: number;
  readonly stop: AbortSignal;
  readonly abandon: AbortSignal;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: WorkerMetrics | undefined;
  /** Told when a slot begins (+1) or ends (-1) its work on a range. */
  readonly onBusy: (change: 1 | -1) => void;
}

export interface SlotState {
  readonly slot: string;
  /** Undefined while the slot is idle. */
  readonly work:
    | { readonly jobId: string; readonly rangeId: string; readonly cursor: bigint; readonly end: bigint }
    | undefined;
}

export class Slot {
  readonly #name: string;
  readonly #options: SlotOptions;
  #sequence = 0n;
  #reader: LogReader | undefined;
  /** For parked records, while the other one reads ahead. */
  #retryReader: LogReader | undefined;
  #held: HeldRange | undefined;
  #failures = 0;

  constructor(name: string, options: SlotOptions) {
    this.#name = name;
    this.#options = options;
  }

  get state(): SlotState {
    const held = this.#held;
    const work = held && { jobId: held.jobId, rangeId: held.rangeId, cursor: held.cursor, end: held.end };
    return { slot: this.#name, work };
  }

  /** Resolves when the worker stops; rejects on a bug, after which this process must not go on. */
  async run(): Promise<void> {
    const { stop } = this.#options;
    try {
      while (!stop.aborted) await this.#turn();
    } finally {
      for (const reader of [this.#reader, this.#retryReader])
        await reader?.close().catch((error: unknown) => this.#options.logger.debug({ error }, 'reader.close_failed'));
    }
  }

  async #turn(): Promise<void> {
    const { finder, stop, doorbell, random } = this.#options;
    try {
      const work = await finder.find({ slot: this.#name, nextCall: () => this.#nextCall() }, stop);
      if (work === undefined) {
        const pollMs = this.#options.pollMs ?? POLL_MS;
        // Jittered, so that the slots of a fleet do not ask in step.
        await doorbell.wait(pollMs * (0.75 + random() / 2), stop);
      } else {
        await this.#workOn(work);
      }
      this.#failures = 0;
    } catch (error) {
      if (!isOutage(error)) throw error;
      await this.#backOff(error);
    }
  }

  async #workOn(work: Work): Promise<void> {
    const { store, cluster, finder, leaseTtlMs, clock, random } = this.#options;
    const { job, grant, permit } = work;
    const logger = this.#options.logger.child({ jobId: job.jobId, slot: this.#name });
    const held = new HeldRange({ store, grant, nextCall: () => this.#nextCall(), leaseTtlMs, clock, random, logger });
    this.#held = held;
    this.#options.onBusy(1);
    this.#reader ??= cluster.openReader();
    const reader = this.#reader;
    logger.info({ rangeId: held.rangeId, cursor: grant.cursor, end: grant.end, token: grant.token }, 'range.leased');
    let blocked = '';
    const handling = handlingOf(this.#options, { work, held, logger, onBlocked: (note) => (blocked = note) });
    try {
      const ending = await new Traversal({
        ...this.#options,
        handling,
        parkedCount: grant.parkedCount,
        permit,
        reader,
        openRetryReader: () => (this.#retryReader ??= cluster.openReader()),
        blocked: () => blocked,
      }).run();
      if (ending.kind === 'let go') countLetGo(this.#options.metrics, ending);
      logEnding(logger, held, ending);
    } finally {
      held.dispose();
      this.#held = undefined;
      this.#options.onBusy(-1);
      finder.done(grant);
      await permit?.giveBack();
    }
  }

  /** The store or the schedule is away: growing, jittered pauses, and one line for the whole outage. */
  async #backOff(error: unknown): Promise<void> {
    const { logger, random, stop } = this.#options;
    this.#failures += 1;
    if (this.#failures === 1) logger.warn({ error, slot: this.#name }, 'slot.waiting');
    await sleep(backoff({ baseMs: OUTAGE_BASE_MS, maxMs: OUTAGE_MAX_MS, attempt: this.#failures, random }), stop);
  }

  #nextCall(): CallId {
    this.#sequence += 1n;
    return { slot: this.#name, sequence: this.#sequence };
  }
}

function handlingOf(
  options: SlotOptions,
  {
    work: { job, handler },
    held,
    logger,
    onBlocked,
  }: {
    readonly work: Work;
    readonly held: HeldRange;
    readonly logger: Logger;
    readonly onBlocked: (note: string) => void;
  },
): Handling {
  const { handlers, codec, deadLetters, blockingCalls, stop, abandon, clock, random, metrics } = options;
  const { jobId, parameters } = job;
  const log: Handling['scope']['log'] = {
    info: (message, fields) => logger.info({ handler: handler.name, ...fields }, message),
    warn: (message, fields) => logger.warn({ handler: handler.name, ...fields }, message),
  };
  return {
    job,
    handler,
    held,
    scope: { jobId, parameters, rangeId: held.rangeId, token: held.token, log },
    handlers,
    codec,
    deadLetters,
    signals: { stop, abandon, letGo: held.signal },
    recordsMax: () => blockingCalls.recordsMax(jobId),
    onSpent: (call) => {
      const note = blockingCalls.saw({ ...call, jobId, handler: handler.name });
      if (note !== undefined) onBlocked(note);
    },
    clock,
    random,
    logger,
    metrics,
  };
}

function logEnding(logger: Logger, held: HeldRange, ending: RangeEnding): void {
  const fields = { rangeId: held.rangeId, cursor: held.cursor };
  switch (ending.kind) {
    case 'done':
      logger.info(fields, 'range.done');
      break;
    case 'released':
      logger.info({ ...fields, why: ending.why }, 'range.released');
      break;
    case 'let go':
      logger.info({ ...fields, reason: ending.reason }, 'range.let_go');
      break;
    case 'stopped':
      logger.error({ ...fields, note: ending.note }, 'range.stopped');
      break;
    default:
      assertNever(ending);
  }
}
