/**
 * The rules of a range, as pure decisions: `(range, what is asked, now) -> answer, and the next range if it changes`.
 * The in-memory twin runs them; the Lua scripts say the same, and a property test holds the two together.
 *
 *            lease              advance to the end, or settle there, and nothing is parked
 *   free ──────────────▶ held ───────────────────────────▶ done
 *    ▲                   │  ▲ │
 *    │ release, or the   │  │ │ stop
 *    │ lease runs out    │  └─┼── renew, claim, advance, settle (the token must be the last one drawn)
 *    └───────────────────┘    └──────────────────────────▶ stopped
 */
import { type Offset, offsetMax, offsetMin, type RangeCounters, sumCounters } from '@tidemark/keyspace';
import { PASSED_INTERVALS_MAX } from './limits.ts';
import { inOffsetOrder } from './parked-order.ts';
import type {
  AdvanceAnswer,
  ClaimAnswer,
  Fenced,
  FencingToken,
  LeaseAnswer,
  LostInterval,
  ParkedRecord,
  Parking,
  RangeState,
  Refusal,
  SettleAnswer,
} from './ports.ts';
import { NO_TOKEN, youngerToken } from './token.ts';

export interface Decision<Answer> {
  readonly answer: Answer;
  /** Left out when nothing changes. */
  readonly next?: RangeState;
  /**
   * The call must not act twice, so a repeat gets this answer. Left out for what may as well act again (renew, claim): a
   * slot renews beside its other calls, and must not wipe out the answer of one whose reply was lost.
   */
  readonly once?: true;
}

const FENCED: Decision<Fenced> = { answer: { kind: 'fenced' } };

export function decideLease(
  range: RangeState,
  request: { readonly slot: string; readonly epoch: Offset; readonly leaseTtlMs: number; readonly nowMs: number },
): Decision<Exclude<LeaseAnswer, Refusal>> {
  if (range.status !== 'open') return { answer: { kind: 'closed', status: range.status } };
  const readyAtMs = range.owner === '' ? range.notBeforeMs : range.leaseUntilMs;
  if (request.nowMs < readyAtMs) return { answer: { kind: 'busy', readyAtMs } };
  const token = youngerToken(request.epoch, range.token);
  const { cursor, horizon, end, parked } = range;
  // Of an owner that did not give the range back, or is from before a restore, nobody knows which retries it made.
  const retriesUnknown = range.owner !== '' || range.token === NO_TOKEN;
  const uncertain = horizon - cursor + (retriesUnknown ? BigInt(parked.length) : 0n);
  return {
    once: true,
    answer: { kind: 'granted', cursor, horizon, end, token, parkedCount: parked.length },
    next: {
      ...range,
      owner: request.slot,
      token,
      leaseUntilMs: request.nowMs + request.leaseTtlMs,
      notBeforeMs: 0,
      // Whoever was here before may have handed all of this to a handler.
      counters: { ...range.counters, maybeRedelivered: range.counters.maybeRedelivered + uncertain },
    },
  };
}

export function decideRenew(
  range: RangeState,
  request: { readonly token: FencingToken; readonly leaseTtlMs: number; readonly note: string; readonly nowMs: number },
): Decision<{ readonly kind: 'renewed' } | Fenced> {
  if (!holds(range, request.token)) return FENCED;
  return {
    answer: { kind: 'renewed' },
    next: { ...range, ...noted(range, request), leaseUntilMs: request.nowMs + request.leaseTtlMs },
  };
}

export function decideClaim(
  range: RangeState,
  request: { readonly token: FencingToken; readonly upTo: Offset },
): Decision<Extract<ClaimAnswer, { kind: 'claimed' }> | Fenced> {
  if (!holds(range, request.token)) return FENCED;
  const horizon = offsetMax(range.horizon, offsetMin(request.upTo, range.end));
  const answer = { kind: 'claimed', horizon, end: range.end } as const;
  return horizon === range.horizon ? { answer } : { answer, next: { ...range, horizon } };
}

export function decideAdvance(
  range: RangeState,
  request: {
    readonly token: FencingToken;
    readonly from: Offset;
    readonly to: Offset;
    readonly add: RangeCounters;
    readonly park: readonly Parking[];
    readonly passed: readonly LostInterval[];
    readonly leaseTtlMs: number;
    readonly nowMs: number;
  },
): Decision<Exclude<AdvanceAnswer, Refusal>> {
  if (!holds(range, request.token)) return FENCED;
  const { cursor, horizon, end } = range;
  const { to, nowMs } = request;
  if (cursor !== request.from) return { answer: { kind: 'cursor moved', cursor } };
  if (to <= cursor || to > offsetMin(horizon, end)) return { answer: { kind: 'out of bounds', horizon, end } };
  const next = doneOrHeld(
    {
      ...range,
      cursor: to,
      counters: sumCounters([range.counters, request.add]),
      passed: withPassed(range.passed, request.passed),
      parked: withParked(range.parked, request.park, nowMs),
      note: '',
      noteSinceMs: 0,
    },
    request,
  );
  return { once: true, answer: { kind: 'advanced', end, done: next.status === 'done' }, next };
}

/** The note stays: an owner that waits for room in the parked set, or for a due time, goes on waiting while it retries. */
export function decideSettle(
  range: RangeState,
  request: {
    readonly token: FencingToken;
    readonly settled: readonly Offset[];
    readonly again: readonly Parking[];
    readonly add: RangeCounters;
    readonly passed: readonly LostInterval[];
    readonly leaseTtlMs: number;
    readonly nowMs: number;
  },
): Decision<Exclude<SettleAnswer, Refusal>> {
  if (!holds(range, request.token)) return FENCED;
  const { settled, again, nowMs } = request;
  const known = new Set(range.parked.map(({ offset }) => offset));
  const unknown = [...settled, ...again.map(({ offset }) => offset)].find((offset) => !known.has(offset));
  if (unknown !== undefined) return { answer: { kind: 'not parked', offset: unknown } };
  const left = new Set(settled);
  const next = doneOrHeld(
    {
      ...range,
      counters: sumCounters([range.counters, request.add]),
      passed: withPassed(range.passed, request.passed),
      parked: withParked(
        range.parked.filter(({ offset }) => !left.has(offset)),
        again,
        nowMs,
      ),
    },
    request,
  );
  return { once: true, answer: { kind: 'settled', done: next.status === 'done' }, next };
}

/**
 * `untouched` takes the horizon back: the owner swears that it handed nothing above the cursor to a handler. What a former
 * owner handed out was already counted when this one got the lease, and the next delivery of it is the one counted.
 */
export function decideRelease(
  range: RangeState,
  request: {
    readonly token: FencingToken;
    readonly delayMs: number;
    readonly note: string;
    readonly untouched: boolean;
    readonly nowMs: number;
  },
): Decision<{ readonly kind: 'released' } | Fenced> {
  if (!holds(range, request.token)) return FENCED;
  return {
    once: true,
    answer: { kind: 'released' },
    next: {
      ...range,
      ...noted(range, request),
      horizon: request.untouched ? range.cursor : range.horizon,
      owner: '',
      leaseUntilMs: 0,
      notBeforeMs: request.nowMs + request.delayMs,
    },
  };
}

export function decideStop(
  range: RangeState,
  request: {
    readonly token: FencingToken;
    readonly note: string;
    readonly lost: readonly LostInterval[];
    readonly nowMs: number;
  },
): Decision<{ readonly kind: 'stopped' } | Fenced> {
  if (!holds(range, request.token)) return FENCED;
  return {
    once: true,
    answer: { kind: 'stopped' },
    next: {
      ...range,
      ...noted(range, request),
      status: 'stopped',
      lost: request.lost,
      owner: '',
      leaseUntilMs: 0,
    },
  };
}

/** The cursor alone does not end a range: a parked record keeps it open. The lease of a range that is done is given back. */
function doneOrHeld(range: RangeState, request: { readonly leaseTtlMs: number; readonly nowMs: number }): RangeState {
  const isDone = range.cursor === range.end && range.parked.length === 0;
  return isDone
    ? { ...range, status: 'done', owner: '', leaseUntilMs: 0, note: '', noteSinceMs: 0 }
    : { ...range, leaseUntilMs: request.nowMs + request.leaseTtlMs };
}

/**
 * As they came, one entry for each, until there are as many as a range keeps. Whoever reads a range merges them, so the rule is
 * the same for a store that keeps each in a field of its own.
 */
function withPassed(passed: readonly LostInterval[], more: readonly LostInterval[]): readonly LostInterval[] {
  return more.length === 0 ? passed : [...passed, ...more.slice(0, Math.max(0, PASSED_INTERVALS_MAX - passed.length))];
}

/** In offset order; a record that is parked already is parked anew. */
function withParked(parked: readonly ParkedRecord[], more: readonly Parking[], nowMs: number): readonly ParkedRecord[] {
  if (more.length === 0) return parked;
  const byOffset = new Map(parked.map((record) => [record.offset, record]));
  for (const { delayMs, ...record } of more) byOffset.set(record.offset, { ...record, dueAtMs: nowMs + delayMs });
  return inOffsetOrder([...byOffset.values()]);
}

/**
 * A lease that ran out while nobody else took it still holds: the token is the last one drawn, so no other owner exists.
 * A lease that was given back does not, though its token is still the last one.
 */
function holds(range: RangeState, token: FencingToken): boolean {
  return range.owner !== '' && range.token === token;
}

function noted(
  range: RangeState,
  request: { readonly note: string; readonly nowMs: number },
): Pick<RangeState, 'note' | 'noteSinceMs'> {
  const { note, nowMs } = request;
  if (note === range.note) return { note, noteSinceMs: range.noteSinceMs };
  return { note, noteSinceMs: note === '' ? 0 : nowMs };
}
