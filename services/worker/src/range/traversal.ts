/**
 * Carries one leased range as far as it goes:
 *
 *   read (one chunk ahead) -> claim its horizon -> handle -> advance -> parked records that are due -> …
 *
 * until the range is done, stopped by a verdict, given back (turn or time slice over, shutdown, a wait that takes too long),
 * or not ours any more. A chunk that something halted is kept and goes on where it was.
 */
import type { LostInterval, Schedule } from '@tidemark/cursors';
import { waitingNote } from '@tidemark/jobs';
import {
  assertNever,
  ErrorClass,
  NO_COUNTS,
  nextOffsetOf,
  type Offset,
  offsetMin,
  TidemarkError,
} from '@tidemark/keyspace';
import type { Chunk, LogReader } from '@tidemark/log';
import { ChunkWork } from '../chunk/chunk-work.ts';
import { clipChunk } from '../chunk/clip.ts';
import {
  OPEN_TRANSACTION_PAUSE_MS,
  PARKED_BATCH_RECORDS,
  PARKED_LOOK_MS,
  SUSPICION_RECHECK_MS,
  WAITING_RELEASE_MS,
} from '../limits.ts';
import type { Breakers, Pass } from '../pace/breakers.ts';
import { Pace } from '../pace/pace.ts';
import type { Turns } from '../pace/turns.ts';
import { ParkedSet } from '../parked/parked-set.ts';
import { ParkedWork } from '../parked/parked-work.ts';
import type { Handling, RunEnding } from '../run/handling.ts';
import type { Permit } from '../work/permits.ts';
import { countMove } from '../worker-metrics.ts';
import { conclude } from './conclusion.ts';
import type { RangeEnding } from './ending.ts';
import type { FencedRanges } from './fenced-ranges.ts';
import { awaitPace } from './pacing.ts';
import { ReadAhead } from './read-ahead.ts';
import { StopCode, type Verdict, verdictOf } from './verdict.ts';
import { Waits } from './waits.ts';

export interface TraversalOptions {
  readonly handling: Handling;
  readonly parkedCount: number;
  readonly permit: Permit | undefined;
  readonly reader: LogReader;
  readonly openRetryReader: () => LogReader;
  readonly schedule: Schedule;
  readonly breakers: Breakers;
  readonly turns: Turns;
  readonly fencedRanges: FencedRanges;
  readonly timeSliceMs: number;
  /** What to say of the range when it is lost because a call took too long. */
  readonly blocked: () => string;
}

export class Traversal {
  readonly #options: TraversalOptions;
  readonly #reads: ReadAhead;
  readonly #waits: Waits;
  readonly #pace: Pace;
  readonly #parked = new ParkedSet();
  readonly #retries: ParkedWork;
  readonly #sliceEndMs: number;
  #suspicions = 0;
  #chunks = 0;
  /** Claimed and not handled to its end. */
  #chunk: ChunkWork | undefined;
  /** One of its records found no room in the parked set. */
  #isFull = false;
  /** Healthy records come next. */
  #retried = false;

  constructor(options: TraversalOptions) {
    this.#options = options;
    const { handling, reader, schedule, openRetryReader: openReader } = options;
    const { job, handler, held, signals, clock, random, logger } = handling;
    const source = { topic: job.topic, topicId: job.topicId, partition: held.range.partition };
    this.#pace = new Pace(schedule, job, handler);
    const recordsMax = this.#pace.recordsMax(job.chunkRecords);
    this.#reads = new ReadAhead(reader, source, { recordsMax, bytesMax: job.chunkBytes });
    const untouched = (): boolean => this.#chunk?.untouched ?? true;
    this.#waits = new Waits({ held, untouched, stop: signals.stop, clock, random, logger });
    this.#retries = new ParkedWork({ handling, parked: this.#parked, source, openReader });
    this.#sliceEndMs = this.#nowMs() + options.timeSliceMs;
  }

  async run(): Promise<RangeEnding> {
    const { held, signals } = this.#options.handling;
    const interrupt = (): void => this.#reads.interrupt();
    signals.stop.addEventListener('abort', interrupt, { once: true });
    held.signal.addEventListener('abort', interrupt, { once: true });
    try {
      let ending = await this.#loadParked();
      while (ending === undefined) ending = await this.#step();
      return ending;
    } finally {
      signals.stop.removeEventListener('abort', interrupt);
      await this.#reads.cancel();
      // Over a lease that ran out the next owner counts parked records as perhaps delivered again.
      if (!this.#retries.isInHand) await held.giveBackLetGo(this.#options.blocked());
      held.dispose();
    }
  }

  /** Also of a former owner that crashed: nothing that it passed is forgotten. */
  async #loadParked(): Promise<RangeEnding | undefined> {
    if (this.#options.parkedCount === 0) return undefined;
    const answer = await this.#options.handling.held.parked();
    if (answer.kind === 'let go') return answer;
    this.#parked.load(answer.records, this.#nowMs());
    return undefined;
  }

  /** One chunk, one batch of parked records, or one look at why there is none. Undefined = go on. */
  async #step(): Promise<RangeEnding | undefined> {
    const { handling, permit, turns, breakers } = this.#options;
    const { held, handler, signals } = handling;
    if (held.isDone) return { kind: 'done' };
    if (held.ending !== undefined) return held.ending;
    if (signals.stop.aborted) return await this.#waits.release('shutdown');
    if (permit?.isLost) return await this.#waits.release('permit lost', { delayMs: WAITING_RELEASE_MS });
    if (this.#nowMs() >= this.#sliceEndMs) return await this.#waits.release('time slice');
    if (this.#chunk === undefined && turns.isOver(this.#chunks)) return await this.#waits.release('turn over');
    const pass = breakers.enter(handler.name);
    if (pass.kind === 'wait') {
      const note = waitingNote.breaker(pass.dependency);
      return await this.#waits.hold({ note, pauseMs: pass.forMs, releaseMs: Math.ceil(pass.forMs) });
    }
    try {
      // Renewals while it probes go on saying what for.
      if (pass.kind === 'probe') await held.setNote(waitingNote.breaker(pass.dependency));
      return await this.#work(pass);
    } finally {
      breakers.leave(handler.name, pass);
    }
  }

  async #work(pass: Pass): Promise<RangeEnding | undefined> {
    const mayHandle = this.#mayHandle();
    const dueCount = this.#parked.due(this.#nowMs(), this.#pace.recordsMax(PARKED_BATCH_RECORDS)).length;
    if (dueCount > 0 && !(this.#retried && mayHandle)) {
      this.#retried = true;
      return await this.#retry(dueCount, pass);
    }
    this.#retried = false;
    if (!mayHandle) return await this.#waitForParked();
    if (this.#chunk === undefined) {
      const ending = await this.#next();
      if (ending !== undefined || this.#chunk === undefined) return ending;
    }
    return await this.#handle(this.#chunk, pass);
  }

  /** A full parked set lets no healthy record pass, or it would grow without end. */
  #mayHandle(): boolean {
    const { held, job } = this.#options.handling;
    const isRoom = this.#parked.size < Math.max(1, job.parkedMax);
    if (this.#chunk !== undefined) return !this.#isFull || isRoom || this.#parked.storedCount === 0;
    return held.cursor < held.end && isRoom;
  }

  async #waitForParked(): Promise<RangeEnding | undefined> {
    const { held } = this.#options.handling;
    const dueInMs = Math.ceil(this.#parked.dueInMs(this.#nowMs()) ?? WAITING_RELEASE_MS);
    if (this.#chunk === undefined && held.cursor >= held.end) {
      // Without parked records the end was lowered to where the cursor is, and the distributor must close it.
      if (this.#parked.size === 0) return await this.#waits.release('nothing left', { delayMs: WAITING_RELEASE_MS });
      return await this.#waits.release('backoff', { delayMs: dueInMs, note: waitingNote.backoff });
    }
    const pauseMs = Math.min(dueInMs, PARKED_LOOK_MS);
    return await this.#waits.hold({ note: waitingNote.parkedFull, pauseMs, releaseMs: dueInMs });
  }

  async #next(): Promise<RangeEnding | undefined> {
    const { job, held, signals } = this.#options.handling;
    const result = await this.#reads.next(held.cursor, held.end);
    if (signals.stop.aborted || held.ending !== undefined) return undefined;
    if (result.kind === 'failed') return await this.#waitForLog(result.error);
    const { topic, onLost } = job;
    const situation = { topic, onLost, cursor: held.cursor, end: held.end, suspicions: this.#suspicions };
    return await this.#act(verdictOf(result.answer, situation));
  }

  async #act(verdict: Verdict): Promise<RangeEnding | undefined> {
    if (verdict.kind !== 'ask again') this.#suspicions = 0;
    switch (verdict.kind) {
      case 'handle':
        return await this.#claim(verdict.chunk);
      case 'wait':
        return await this.#waits.hold({
          note: verdict.note,
          pauseMs: OPEN_TRANSACTION_PAUSE_MS,
          releaseMs: WAITING_RELEASE_MS,
        });
      case 'ask again':
        this.#suspicions += 1;
        await this.#waits.pause(SUSPICION_RECHECK_MS);
        return undefined;
      case 'pass lost':
        return await this.#passLost(verdict.to);
      case 'stop':
        return await this.#stop(verdict.note, this.#retries.lostWith(verdict.lost));
      default:
        return assertNever(verdict);
    }
  }

  async #claim(chunk: Chunk): Promise<RangeEnding | undefined> {
    const { held } = this.#options.handling;
    const ending = await this.#awaitPace(chunk.records.length);
    if (ending !== undefined) return ending;
    const claimed = await held.claim(chunk.end);
    if (claimed.kind === 'let go') return claimed;
    const mine = clipChunk(chunk, held.end);
    this.#reads.start(mine.end, held.end);
    this.#chunk = new ChunkWork(this.#options.handling, { chunk: mine, parked: this.#parked });
    this.#isFull = false;
    return undefined;
  }

  async #handle(chunk: ChunkWork, pass: Pass): Promise<RangeEnding | undefined> {
    const { breakers, handling } = this.#options;
    const { held, handler } = handling;
    const before = held.cursor;
    // Slow records that were settled tell as much as a whole chunk does: what they need is there.
    const ending = await chunk.run(() => breakers.completed(handler.name, pass));
    // Past the trust, too: what is settled is offered, and the store decides.
    if (ending.kind !== 'fenced') await chunk.commit();
    if (held.cursor > before) this.#waits.moved();
    this.#isFull = ending.kind === 'parked full';
    if (ending.kind === 'complete') {
      this.#chunk = undefined;
      this.#chunks += 1;
    }
    return await this.#conclude(ending, pass, chunk.wasCalled);
  }

  async #retry(count: number, pass: Pass): Promise<RangeEnding | undefined> {
    const { job, held } = this.#options.handling;
    const ending = await this.#awaitPace(count);
    if (ending !== undefined) return ending;
    const before = this.#parked.size;
    const turn = await this.#retries.turn(count);
    if (this.#parked.size < before) this.#waits.moved();
    switch (turn.kind) {
      case 'let go':
        return turn;
      case 'over':
        return await this.#conclude(turn.ending, pass, turn.wasCalled);
      case 'gone': {
        const places = turn.lost.map(({ first, last }) => `${first}-${last}`).join(', ');
        return await this.#stop(`${StopCode.offsetsLost}: parked ${places}`, turn.lost);
      }
      case 'log unreadable':
        return await this.#waitForLog(turn.error);
      case 'refused': {
        const { topic, onLost } = job;
        const situation = { topic, onLost, cursor: turn.cursor, end: held.cursor, suspicions: this.#suspicions };
        return await this.#act(verdictOf(turn.answer, situation));
      }
      default:
        return assertNever(turn);
    }
  }

  #conclude(ending: RunEnding, pass: Pass, wasCalled: boolean): Promise<RangeEnding | undefined> {
    const { breakers, fencedRanges, handling } = this.#options;
    const { held, handler } = handling;
    const concluding = { held, handlerName: handler.name, wasCalled, waits: this.#waits, breakers, fencedRanges };
    return conclude(ending, pass, concluding);
  }

  #awaitPace(records: number): Promise<RangeEnding | undefined> {
    return awaitPace(records, { pace: this.#pace, waits: this.#waits, clock: this.#options.handling.clock });
  }

  /**
   * For good, so what is lost is claimed first: a range may have been cut since its end was last heard, and its owner names
   * only what is its own. Then the log is asked again up to the lower end.
   */
  async #stop(note: string, lost: readonly LostInterval[]): Promise<RangeEnding | undefined> {
    const { held } = this.#options.handling;
    const { cursor, end } = held;
    const last = lost.at(-1)?.last ?? cursor;
    if (last > cursor) {
      const claimed = await held.claim(last);
      if (claimed.kind === 'let go') return claimed;
      if (held.end < end) return undefined;
    }
    const answer = await held.stop({ note, lost });
    return answer.kind === 'stopped' ? { kind: 'stopped', note } : answer;
  }

  async #passLost(upTo: Offset): Promise<RangeEnding | undefined> {
    const { held, logger, job, metrics } = this.#options.handling;
    const claimed = await held.claim(upTo);
    if (claimed.kind === 'let go') return claimed;
    const from = held.cursor;
    const to = offsetMin(upTo, held.end);
    const lost = to - from;
    logger.warn({ jobId: job.jobId, rangeId: held.rangeId, to, lost }, 'range.lost_passed');
    const passed = [{ first: nextOffsetOf(from), last: to }];
    const move = { from, to, add: { ...NO_COUNTS, lost }, park: [], passed };
    const moved = await held.advance(move);
    if (moved.kind === 'let go') return moved;
    countMove(metrics, move);
    return undefined;
  }

  async #waitForLog(error: unknown): Promise<RangeEnding | undefined> {
    if (!(error instanceof TidemarkError) || error.class === ErrorClass.bug) throw error;
    // A read that a shutdown interrupted is no outage.
    if (this.#options.handling.signals.stop.aborted) return undefined;
    return await this.#waits.outage('kafka', error.message);
  }

  #nowMs(): number {
    return this.#options.handling.clock.now().monotonicMs;
  }
}
