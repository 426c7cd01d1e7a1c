/**
 * Hands the open records of a chunk, or of a parked batch, to the handler, in the order that the job allows and as many at
 * a time as the handler declares (one under ordering `partition`). It ends when all are settled or when something halts it:
 *
 *   running --(all settled)--> complete
 *      |----(a dependency is down, dead letters are refused, told to stop)--> no new record starts, running ones finish
 *      |----(the parked set is full)----------------------------------------> the same, and they may be retried in place
 *      '----(the sink fences us out, the range is not ours any more)-------> attempts are aborted, nobody is waited for
 *
 * After a halt that left the range with us, `run` may be called again: it goes on with the records that are still open.
 */

import { handlerDefaults, type Outcome } from '@tidemark/handlers';
import { isDeadLetterTopic, Ordering } from '@tidemark/jobs';
import { monotonicNowMs } from '@tidemark/keyspace';
import { SYNC_TURN_MS } from '../limits.ts';
import type { RunEnding, RunOptions } from './handling.ts';
import { createLanes } from './lanes.ts';
import { type EventOrigin, eventOfLetter, RecordEvent, recordAt } from './record-event.ts';
import { type Attempt, Settling } from './settling.ts';

export class Run {
  readonly #options: RunOptions;
  readonly #settling: Settling;
  readonly #concurrency: number;
  readonly #origin: EventOrigin;
  readonly #hasLetters: boolean;
  #started = 0;
  #ending: RunEnding | undefined;
  #full = false;
  /** Wakes pauses between attempts. */
  #halted = new AbortController();
  #left = Promise.withResolvers<void>();

  constructor(options: RunOptions) {
    this.#options = options;
    this.#origin = { topic: options.job.topic, topicId: options.job.topicId, partition: options.partition };
    this.#hasLetters = isDeadLetterTopic(options.job.topic);
    const { concurrency, timeoutMs } = handlerDefaults(options.handler);
    this.#concurrency = options.job.ordering === Ordering.partition ? 1 : concurrency;
    this.#settling = new Settling({
      ...options,
      timeoutMs,
      callOf: (indexes) => this.#callOf(indexes),
      halt: (ending) => this.#halt(ending),
      ending: () => this.#endingNow(),
      halted: () => this.#halted.signal,
      onFull: () => {
        this.#full = true;
      },
      isFull: () => this.#full,
    });
  }

  /** The records below this index are all that were ever handed to the handler. */
  get startedCount(): number {
    return this.#started;
  }

  async run(): Promise<RunEnding> {
    this.#ending = undefined;
    this.#full = false;
    this.#halted = new AbortController();
    this.#left = Promise.withResolvers();
    const unlisten = this.#listen();
    try {
      const open = this.#options.settlements.openIndexes();
      const work = this.#options.handler.handleBatch === undefined ? this.#runLanes(open) : this.#runBatch(open);
      await Promise.race([work, this.#left.promise]);
    } finally {
      unlisten();
    }
    return this.#ending ?? { kind: this.#full ? 'parked full' : 'complete' };
  }

  #listen(): () => void {
    const leave = (ending: RunEnding): void => {
      this.#halt(ending);
      this.#leave();
    };
    const { stop, abandon, letGo } = this.#options.signals;
    const listeners = [
      [stop, () => this.#halt({ kind: 'stopped' })],
      [abandon, () => leave({ kind: 'stopped' })],
      [letGo, () => leave({ kind: 'let go' })],
    ] as const;
    for (const [signal, listener] of listeners) {
      if (signal.aborted) listener();
      else signal.addEventListener('abort', listener, { once: true });
    }
    return () => {
      for (const [signal, listener] of listeners) signal.removeEventListener('abort', listener);
    };
  }

  /** Asked before anything new is started. */
  #endingNow(): RunEnding | undefined {
    if (this.#options.trustLeftMs() <= 0) this.#letGo();
    return this.#ending;
  }

  #letGo(): void {
    this.#halt({ kind: 'let go' });
    this.#leave();
  }

  /** Aborts what runs and waits for nobody. */
  #leave(): void {
    this.#settling.expireAll();
    this.#left.resolve();
  }

  /** The first cause wins. */
  #halt(ending: RunEnding): void {
    this.#ending ??= ending;
    this.#halted.abort();
    if (ending.kind === 'fenced') this.#leave();
  }

  /** In one call, unless one was found to take too long. */
  async #runBatch(indexes: readonly number[]): Promise<void> {
    const batchRecordsMax = this.#options.handler.batchRecordsMax ?? Number.POSITIVE_INFINITY;
    for (let place = 0; place < indexes.length; ) {
      if (place > 0) await nextTurn();
      if (this.#full || this.#endingNow() !== undefined) return;
      const wanted = indexes.slice(place, place + Math.min(batchRecordsMax, this.#options.recordsMax()));
      place += wanted.length;
      const batch = this.#startable(wanted);
      if (batch.length === 0) continue;
      const beganMs = monotonicNowMs();
      const settling = this.#settling.attempt(batch);
      this.#options.onSpent({ records: batch.length, ms: monotonicNowMs() - beganMs });
      await settling;
    }
  }

  /** Without those that wait for another record; one alone is asked for when it is attempted. */
  #startable(indexes: readonly number[]): readonly number[] {
    if (indexes.length === 1 || !this.#options.policy.isWatching) return indexes;
    const startable: number[] = [];
    for (const index of indexes) {
      if (this.#settling.mayStart(index)) startable.push(index);
      // What lies below is still handled: the set may be full of records that wait for the prefix to reach them.
      else if (this.#full) break;
    }
    return startable;
  }

  #runLanes(indexes: readonly number[]): Promise<void> {
    const { records, job } = this.#options;
    const lanes = createLanes({ ordering: job.ordering, indexes, keyOf: (index) => recordAt(records, index).key });
    const all = Promise.withResolvers<void>();
    let running = 0;
    let isOver = false;
    // A loop and not a recursion: handlers that answer at once would otherwise grow the stack with every record.
    const pump = (): void => {
      // Planned for later before the last record came to its end; the next run may be under way by now.
      if (isOver) return;
      const trustLeftMs = this.#options.trustLeftMs();
      if (trustLeftMs <= 0) this.#letGo();
      const turnBeganMs = monotonicNowMs();
      const turnEndMs = turnBeganMs + Math.min(SYNC_TURN_MS, trustLeftMs);
      while (this.#ending === undefined && !this.#full && running < this.#concurrency) {
        const index = lanes.next();
        if (index === undefined) break;
        const settling = this.#settling.attempt([index]);
        if (settling === undefined) lanes.finished(index);
        else {
          running += 1;
          settling.then(
            () => {
              running -= 1;
              lanes.finished(index);
              pump();
            },
            (error: unknown) => all.reject(error),
          );
        }
        const nowMs = monotonicNowMs();
        if (nowMs < turnEndMs) continue;
        // Only the last call of a turn can have been a long one, so the turn stands for it.
        this.#options.onSpent({ records: 1, ms: nowMs - turnBeganMs });
        // Handlers that never wait would keep the timers of the lease and the signals from running.
        setImmediate(pump);
        return;
      }
      if (running > 0) return;
      isOver = true;
      all.resolve();
    };
    pump();
    return all.promise;
  }

  #callOf(indexes: readonly number[]): Attempt {
    const { handler } = this.#options;
    this.#started = Math.max(this.#started, (indexes.at(-1) ?? -1) + 1);
    if (handler.handleBatch !== undefined) {
      const events = this.#eventsOf(indexes);
      return (context) => handler.handleBatch(events, context);
    }
    const event = this.#eventOf(indexes[0] ?? 0);
    return (context): Outcome | Promise<Outcome> => handler.handle(event, context);
  }

  #eventOf(index: number): RecordEvent {
    const { records, payloads } = this.#options;
    const record = recordAt(records, index);
    const payload = payloads === undefined ? record.value : payloads[index];
    return this.#hasLetters
      ? eventOfLetter(this.#origin, record, payload)
      : new RecordEvent(this.#origin, record, payload);
  }

  #eventsOf(indexes: readonly number[]): readonly RecordEvent[] {
    const events: RecordEvent[] = new Array(indexes.length);
    for (let place = 0; place < indexes.length; place++) events[place] = this.#eventOf(indexes[place] ?? 0);
    return events;
  }
}

/** Lets timers, signals and answers of the network in. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
