/**
 * A range that this worker holds the lease of: the one place from which the store hears of it.
 *
 * - Once the lease is not trusted any more, `signal` is aborted, nothing new is started, and the work is dropped, but for
 *   one offer, see below.
 * - Calls go out one after the other, each with a fresh CallId. The store answers a repeat from its memory of the *last*
 *   call only, so two calls on their way at once could not both be repeated.
 * - A call that finds the store unreachable is repeated with the same CallId while the lease is trusted.
 * - The lease is renewed when a third of its ttl is over since the last call that renewed it (advance does, too).
 *
 * The offer. A handler that keeps the event loop busy for longer than the lease leaves no turn to renew it, so trust is
 * lost whenever it answers. If what it settled were dropped, the same records would be handed over for ever. So `advance`,
 * `settle` and `release` are sent past the trust, too, each once, and the store decides. That is safe, because the store
 * compares token, old cursor, horizon and parked set in the step that writes:
 *
 *   we settle 0-9 ······ trust ends ··· (a) nobody took the range: the token is still the last one drawn, no other owner
 *                                           ever saw these records, and the move is what it would have been in time
 *                                       (b) a successor was granted the range: that drew another token, so `fenced`,
 *                                           whether he stands at the old cursor, moved it, or gave the range back
 *                                       (c) he asks for the lease while our offer is on its way: one of the two steps is
 *                                           first. Ours: he begins behind our records. His: we are fenced as in (b)
 *   our own advance was accepted and its reply lost: the store's cursor is not `from` any more, so `cursor moved`
 *
 * Trust guards what no store can check, calls of the handler and their effects; it does not come back with the offer.
 */
import type { CallId, CursorStore, FencingToken, LostInterval, ParkedRecord, RangeCall } from '@tidemark/cursors';
import {
  backoff,
  ErrorClass,
  isOutage,
  type Offset,
  type RangeRef,
  rangeIdOf,
  sleep,
  TidemarkError,
} from '@tidemark/keyspace';
import type { Logger } from '@tidemark/observability';
import type { Clock } from '../clock.ts';
import {
  LEASE_TICKS_PER_TTL,
  RENEWALS_PER_TTL,
  STORE_RETRY_BASE_MS,
  STORE_RETRY_MAX_MS,
  TRUST_MARGIN_PART,
} from '../limits.ts';
import type { Grant, LetGo } from './grant.ts';
import { LeaseTrust } from './lease-trust.ts';
import type { PrefixMove, SettleStep } from './moves.ts';

export interface HeldRangeOptions {
  readonly store: CursorStore;
  readonly grant: Grant;
  readonly nextCall: () => CallId;
  readonly leaseTtlMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

const OFFERED_WITHOUT_TRUST = 1;
/** Answers of calls that renew the lease. */
const RENEWING: ReadonlySet<string> = new Set(['renewed', 'advanced', 'settled']);

type DueRecord = Omit<ParkedRecord, 'dueAtMs'> & { readonly dueInMs: number };

export class HeldRange {
  readonly jobId: string;
  readonly range: RangeRef;
  readonly rangeId: string;
  readonly token: FencingToken;
  readonly #options: HeldRangeOptions;
  readonly #trust: LeaseTrust;
  readonly #letGo = new AbortController();
  readonly #ticks: NodeJS.Timeout;
  #lastCall: Promise<unknown> = Promise.resolve();
  #renewing = false;
  #cursor: Offset;
  #end: Offset;
  /** The highest offset that this owner claimed. */
  #claimed: Offset;
  #done = false;
  #note = '';
  #ending: LetGo | undefined;
  /** The store said no: it would again. */
  #refusedByStore = false;
  #givenBack = false;

  constructor(options: HeldRangeOptions) {
    const { grant, leaseTtlMs } = options;
    this.#options = options;
    this.jobId = grant.jobId;
    this.range = grant.range;
    this.rangeId = rangeIdOf(grant.range);
    this.token = grant.token;
    this.#cursor = grant.cursor;
    this.#end = grant.end;
    this.#claimed = grant.cursor;
    this.#trust = new LeaseTrust({ ttlMs: leaseTtlMs, marginMs: leaseTtlMs * TRUST_MARGIN_PART }, grant.since);
    this.#ticks = setInterval(() => this.#tick(), leaseTtlMs / LEASE_TICKS_PER_TTL);
  }

  /** Aborted when the range is not ours any more. */
  get signal(): AbortSignal {
    return this.#letGo.signal;
  }

  get cursor(): Offset {
    return this.#cursor;
  }

  get end(): Offset {
    return this.#end;
  }

  /** The cursor is at the end and the lease was given back with it. */
  get isDone(): boolean {
    return this.#done;
  }

  /** Why it was let go; undefined while it is held. */
  get ending(): LetGo | undefined {
    if (this.#ending === undefined && !this.#trusted()) this.#giveUp('not trusted');
    return this.#ending;
  }

  /** How long from now a handler may still be called; 0 once the range is let go. */
  get trustLeftMs(): number {
    return this.ending === undefined ? this.#trust.leftMs(this.#options.clock.now()) : 0;
  }

  /** After it, everything up to `upTo` (or the range's end, if that is lower) may be handed to the handler. */
  async claim(upTo: Offset): Promise<{ readonly kind: 'claimed' } | LetGo> {
    const answer = await this.#call((call) => this.#options.store.claim({ ...call, upTo }));
    if (answer.kind !== 'claimed') return this.#refused(answer);
    this.#end = answer.end;
    this.#claimed = answer.horizon;
    // An answer that took too long says what was true; whether it still is, only the trust window knows.
    return this.ending ?? { kind: 'claimed' };
  }

  /** Also sent without trust, once. An accepted move counts, whatever `ending` says. */
  async advance(move: PrefixMove): Promise<{ readonly kind: 'advanced' } | LetGo> {
    const { leaseTtlMs, store } = this.#options;
    // From where the move was measured: with the cursor of now, a move whose predecessor was lost would take its offsets
    // along without their counters.
    const answer = await this.#call((call) => store.advance({ ...call, ...move, leaseTtlMs }), OFFERED_WITHOUT_TRUST);
    if (answer.kind === 'advanced') {
      this.#cursor = move.to;
      this.#end = answer.end;
      this.#done = answer.done;
      this.#note = '';
      return { kind: 'advanced' };
    }
    if (answer.kind === 'out of bounds') throw outOfBounds(this, move, answer);
    return this.#refused(answer);
  }

  /** How parked records ended, or that they wait again. Also sent without trust, once. */
  async settle(step: SettleStep): Promise<{ readonly kind: 'settled' } | LetGo> {
    const { leaseTtlMs, store } = this.#options;
    const answer = await this.#call((call) => store.settle({ ...call, ...step, leaseTtlMs }), OFFERED_WITHOUT_TRUST);
    if (answer.kind === 'settled') {
      this.#done = answer.done;
      return { kind: 'settled' };
    }
    if (answer.kind === 'not parked') throw notParked(this, answer.offset);
    return this.#refused(answer);
  }

  /** The records that former owners parked. */
  async parked(): Promise<{ readonly kind: 'parked'; readonly records: readonly DueRecord[] } | LetGo> {
    const answer = await this.#call(async ({ jobId, range }) => {
      const records = await this.#options.store.parked({ jobId, range });
      return records === undefined ? { kind: 'incomplete' as const } : { kind: 'parked' as const, records };
    });
    return answer.kind === 'parked' ? answer : this.#refused(answer);
  }

  /** Whether more may be started: a job that drains takes what is under way, and says so only to a claim. */
  async confirm(): Promise<{ readonly kind: 'confirmed' } | LetGo> {
    const answer = await this.#call((call) => this.#options.store.claim({ ...call, upTo: this.#cursor }));
    if (answer.kind !== 'claimed') return this.#refused(answer);
    this.#end = answer.end;
    return this.ending ?? { kind: 'confirmed' };
  }

  /** What the range waits for; '' = it works. Tells the store at once when it changed. */
  async setNote(note: string): Promise<void> {
    if (note === this.#note) return;
    await this.#renew(note);
  }

  /** Gives the lease back; also sent without trust, once. */
  async release(release: {
    readonly delayMs: number;
    readonly note: string;
    readonly untouched: boolean;
  }): Promise<{ readonly kind: 'released' } | LetGo> {
    this.#givenBack = true;
    const { store } = this.#options;
    const answer = await this.#call((call) => store.release({ ...call, ...release }), OFFERED_WITHOUT_TRUST);
    return answer.kind === 'released' ? answer : this.#refused(answer);
  }

  /** A range that was let go may be ours for the store still: its next owner need not wait for the end of the lease then. */
  async giveBackLetGo(note: string): Promise<void> {
    if (this.#done || this.#givenBack) return;
    const reason = this.#ending?.reason;
    if (reason === 'not trusted' ? this.#refusedByStore : reason !== 'not running' || !this.#trusted()) return;
    this.#givenBack = true;
    const { nextCall, store, logger } = this.#options;
    const call = { call: nextCall(), jobId: this.jobId, range: this.range, token: this.token };
    await this.#lastCall;
    try {
      await store.release({ ...call, delayMs: 0, note, untouched: this.#claimed <= this.#cursor });
    } catch (error) {
      // Then it ends by itself.
      logger.debug({ error, rangeId: this.rangeId }, 'lease.not_given_back');
    }
  }

  /** Ends the range where it is. */
  async stop(stop: {
    readonly note: string;
    readonly lost: readonly LostInterval[];
  }): Promise<{ readonly kind: 'stopped' } | LetGo> {
    const answer = await this.#call((call) => this.#options.store.stop({ ...call, ...stop }));
    return answer.kind === 'stopped' ? answer : this.#refused(answer);
  }

  /** To be called when the range is left, however that came about. */
  dispose(): void {
    clearInterval(this.#ticks);
  }

  #tick(): void {
    if (this.ending !== undefined || this.#done || this.#renewing) return;
    if (this.#trust.ageMs(this.#options.clock.now()) < this.#options.leaseTtlMs / RENEWALS_PER_TTL) return;
    this.#renew(this.#note).catch((error: unknown) =>
      this.#options.logger.error({ error, rangeId: this.rangeId }, 'lease.renew_failed'),
    );
  }

  async #renew(note: string): Promise<void> {
    const { leaseTtlMs, store } = this.#options;
    this.#renewing = true;
    try {
      const answer = await this.#call((call) => store.renew({ ...call, leaseTtlMs, note }));
      if (answer.kind === 'renewed') this.#note = note;
      else this.#refused(answer);
    } finally {
      this.#renewing = false;
    }
  }

  #refused(refusal: { readonly kind: LetGo['reason'] } | LetGo): LetGo {
    return refusal.kind === 'let go' ? refusal : this.#giveUp(refusal.kind);
  }

  #giveUp(reason: LetGo['reason']): LetGo {
    this.#ending ??= { kind: 'let go', reason };
    if (reason !== 'not trusted') this.#refusedByStore = true;
    this.#letGo.abort();
    return this.#ending;
  }

  #trusted(): boolean {
    return this.#trust.holds(this.#options.clock.now());
  }

  #call<Answer extends { readonly kind: string }>(
    send: (call: RangeCall) => Promise<Answer>,
    offers = 0,
  ): Promise<Answer | LetGo> {
    const turn = this.#lastCall.then(() => this.#send(send, offers));
    this.#lastCall = turn.catch(() => undefined);
    return turn;
  }

  /** Sends while the lease is trusted, and `offers` times without trust. */
  async #send<Answer extends { readonly kind: string }>(
    send: (call: RangeCall) => Promise<Answer>,
    offers: number,
  ): Promise<Answer | LetGo> {
    const { clock, nextCall, random, logger } = this.#options;
    const call: RangeCall = { call: nextCall(), jobId: this.jobId, range: this.range, token: this.token };
    let offersLeft = offers;
    for (let attempt = 1; ; attempt++) {
      const { ending } = this;
      if (ending !== undefined && !(ending.reason === 'not trusted' && !this.#refusedByStore && offersLeft-- > 0))
        return ending;
      const since = clock.now();
      try {
        const answer = await send(call);
        if (RENEWING.has(answer.kind)) this.#trust.renewed(since);
        return answer;
      } catch (error) {
        if (!isOutage(error)) throw error;
        if (attempt === 1) logger.warn({ error, jobId: this.jobId, rangeId: this.rangeId }, 'store.unreachable');
        await sleep(backoff({ baseMs: STORE_RETRY_BASE_MS, maxMs: STORE_RETRY_MAX_MS, attempt, random }), this.signal);
      }
    }
  }
}

function outOfBounds(
  held: HeldRange,
  move: PrefixMove,
  answer: { readonly horizon: Offset; readonly end: Offset },
): TidemarkError {
  return new TidemarkError({
    code: 'ADVANCE_OUT_OF_BOUNDS',
    class: ErrorClass.bug,
    message: `range ${held.rangeId} of job ${held.jobId} was to move from ${held.cursor} to ${move.to}, but may only reach ${answer.horizon} and ends at ${answer.end}`,
    context: { jobId: held.jobId, rangeId: held.rangeId, to: move.to, ...answer },
  });
}

function notParked(held: HeldRange, offset: Offset): TidemarkError {
  return new TidemarkError({
    code: 'NOT_PARKED',
    class: ErrorClass.bug,
    message: `record ${offset} of range ${held.rangeId} of job ${held.jobId} was retried, but the store does not hold it as parked`,
    context: { jobId: held.jobId, rangeId: held.rangeId, offset },
  });
}
