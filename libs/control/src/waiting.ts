/**
 * What a job and each of its ranges wait for, and since when: pure, and the same for the command line and the console.
 *
 * A range that somebody holds says it in its note. One that nobody holds cannot, so it follows from what is known of its
 * job: no worker could take it, or those that could were turned away. The causes are asked in the order in which one hides
 * the next: where no worker has the handler, nobody is refused a permit.
 */
import type { JobState } from '@tidemark/contracts';
import { aliveWorkers, type RangeState, type WorkerAnnouncement } from '@tidemark/cursors';
import { breakerIn, exhaustedIn, hintOf, noteOfHint, openTransactionIn, waitingNote } from '@tidemark/jobs';
import { RangeStatus } from '@tidemark/keyspace';
import { isOver, JobVerdict, jobVerdictOf } from './job-verdict.ts';
import { MOMENT_MS } from './limits.ts';
import { describeDuration } from './progress.ts';
import { RangeWord, wordOfRange } from './range-word.ts';

export const WaitKind = {
  /** Only somebody's order lets it go on. */
  person: 'person',
  distributor: 'distributor',
  /** It is being paused or cancelled, and chunks are still being handled. */
  drain: 'chunks in flight',
  noWorker: 'no worker',
  noHandler: 'no handler',
  notIdempotent: 'handler not idempotent',
  permit: 'permit',
  rate: 'rate',
  breaker: 'breaker',
  openTransaction: 'open transaction',
  broker: 'broker',
  backoff: 'backoff',
  parkedFull: 'parked records',
  /** Its owner fell silent, and its lease has run out. */
  takeover: 'takeover',
  /** Workers that could take it have not come by yet. */
  turn: 'turn',
  /** In the words of its owner. */
  other: 'other',
} as const;
export type WaitKind = (typeof WaitKind)[keyof typeof WaitKind];

export interface Waiting {
  readonly kind: WaitKind;
  /** What follows "waits for". May hold words of a handler: text, never markup. */
  readonly reason: string;
  /** By the store's clock; undefined = nobody knows. */
  readonly sinceMs: number | undefined;
}

/** Who could work, and whom they turned away, at one moment of the store's clock. */
export interface Crew {
  readonly storeNowMs: number;
  readonly workers: readonly (WorkerAnnouncement & { readonly atMs: number })[];
  /** What jobs were said to wait for, lately, although nobody holds a range of them. */
  readonly hints: ReadonlyMap<string, { readonly reason: string }>;
}

type Range = Pick<RangeState, 'status' | 'note' | 'owner'> & Partial<Pick<RangeState, 'leaseUntilMs' | 'noteSinceMs'>>;

/** `its turn at the rate limit, for 12 s`. */
export function describeWaiting({ reason, sinceMs }: Waiting, storeNowMs: number): string {
  return sinceMs === undefined || storeNowMs - sinceMs < MOMENT_MS
    ? reason
    : `${reason}, for ${describeDuration(storeNowMs - sinceMs)}`;
}

/** For each range of a job; undefined for one that is worked on or closed, and for all while the job does not run: then it waits itself. */
export function waitingOfRanges(
  ranges: readonly Range[],
  state: JobState,
  crew: Crew,
): readonly (Waiting | undefined)[] {
  if (jobVerdictOf(state) !== JobVerdict.running) return ranges.map(() => undefined);
  const nobody = nobodyCanTake(state, crew);
  const free = nobody ?? freeRangeOf(ranges, state, crew);
  return ranges.map((range) => {
    if (range.status !== RangeStatus.open) return undefined;
    const word = wordOfRange(range, crew.storeNowMs);
    if (word === RangeWord.working) return range.note === '' ? undefined : ofNote(range);
    if (nobody === undefined && word === RangeWord.expired)
      return { kind: WaitKind.takeover, reason: 'another worker to take it over', sinceMs: range.leaseUntilMs };
    return nobody === undefined && range.note !== '' ? ofNote(range) : free;
  });
}

/** Undefined while some range is worked on, and when it is over. `ranges` undefined = the store does not hold the job. */
export function waitingOfJob(ranges: readonly Range[] | undefined, state: JobState, crew: Crew): Waiting | undefined {
  const verdict = jobVerdictOf(state);
  const sinceMs = Number(state.updatedAtMs);
  if (isOver(verdict)) return undefined;
  if (verdict === JobVerdict.suspended || verdict === JobVerdict.paused)
    return { kind: WaitKind.person, reason: `a person: ${state.reason || 'no reason was given'}`, sinceMs };
  if (verdict === JobVerdict.requested)
    return { kind: WaitKind.distributor, reason: 'a distributor to pin its window', sinceMs };
  if (verdict === JobVerdict.stopping) {
    const held = (ranges ?? []).filter(({ owner }) => owner !== '').length;
    return {
      kind: WaitKind.drain,
      reason: `the chunks in flight of ${held === 1 ? '1 range' : `${held} ranges`}`,
      sinceMs,
    };
  }
  if (ranges === undefined)
    return { kind: WaitKind.distributor, reason: 'the distributor to fill the cursor store again', sinceMs: undefined };
  const waits = waitingOfRanges(
    ranges.filter(({ status }) => status === RangeStatus.open),
    state,
    crew,
  );
  const reasons = waits.filter((wait) => wait !== undefined);
  return reasons.length < waits.length ? undefined : commonest(reasons);
}

/** Why no live worker can take any range of the job. */
function nobodyCanTake({ request }: JobState, crew: Crew): Waiting | undefined {
  const { handler } = request;
  const alive = aliveWorkers(crew.workers, crew.storeNowMs);
  const wait = (kind: WaitKind, reason: string): Waiting => ({ kind, reason, sinceMs: undefined });
  if (alive.length === 0) return wait(WaitKind.noWorker, 'a worker: none is alive');
  const offers = alive.flatMap(({ handlers }) => handlers.filter(({ name }) => name === handler));
  if (offers.length === 0) return wait(WaitKind.noHandler, `a worker with the handler ${handler}: no live one has it`);
  if (request.acceptDuplicates || offers.some(({ idempotent }) => idempotent)) return undefined;
  return wait(
    WaitKind.notIdempotent,
    `consent to duplicates: the handler ${handler} is not idempotent, and the job was submitted without --accept-duplicates`,
  );
}

/**
 * What keeps workers from a range that nobody says anything of. Those that were turned away said why; but whoever holds a
 * permit renews it, which takes that word back, so a full job is told by its own numbers.
 */
function freeRangeOf(ranges: readonly Range[], { jobId, request: { concurrency } }: JobState, crew: Crew): Waiting {
  const sinceMs = undefined;
  const held = ranges.filter((range) => wordOfRange(range, crew.storeNowMs) === RangeWord.working).length;
  if (concurrency > 0 && held >= concurrency)
    return {
      kind: WaitKind.permit,
      reason: `a permit: ${held} of its ranges are worked on, as many as may be`,
      sinceMs,
    };
  const hint = crew.hints.get(jobId);
  if (hint === undefined) return { kind: WaitKind.turn, reason: 'a free slot of a worker', sinceMs };
  if (!/^permit\b/.test(hint.reason)) return ofWords(hint.reason, sinceMs);
  const reason = concurrency > 0 ? 'a permit' : 'a permit: as many ranges of all jobs are worked on as may be';
  return { kind: WaitKind.permit, reason, sinceMs };
}

/** The lease of a range is renewed with its note, so a note is as old as it says. */
function ofNote({ note, noteSinceMs = 0 }: Range): Waiting {
  return ofWords(note, noteSinceMs === 0 ? undefined : noteSinceMs);
}

function ofWords(text: string, sinceMs: number | undefined): Waiting {
  const words = hintOf(text);
  const note = noteOfHint(words);
  const transaction = openTransactionIn(note);
  if (transaction !== undefined)
    return { kind: WaitKind.openTransaction, reason: `the open transaction at ${transaction} to end`, sinceMs };
  const dependency = breakerIn(note);
  if (dependency !== undefined)
    return { kind: WaitKind.breaker, reason: `${dependency}, whose breaker is open`, sinceMs };
  const exhausted = exhaustedIn(text);
  if (exhausted !== undefined)
    return { kind: WaitKind.distributor, reason: `the distributor to suspend the job: ${exhausted}`, sinceMs };
  if (note === waitingNote.rate) return { kind: WaitKind.rate, reason: 'its turn at the rate limit', sinceMs };
  if (note === waitingNote.backoff)
    return { kind: WaitKind.backoff, reason: 'the next attempt of its parked records', sinceMs };
  if (note === waitingNote.parkedFull)
    return { kind: WaitKind.parkedFull, reason: 'room: as many records are parked as may be', sinceMs };
  if (note === waitingNote.outage('kafka'))
    return { kind: WaitKind.broker, reason: 'the broker, which does not answer', sinceMs };
  return { kind: WaitKind.other, reason: words, sinceMs };
}

/** What most of the ranges wait for, since when the first of them does; a turn that comes by itself only if there is nothing else. */
function commonest(waits: readonly Waiting[]): Waiting | undefined {
  const telling = waits.filter(({ kind }) => kind !== WaitKind.turn);
  const groups = Map.groupBy(telling.length > 0 ? telling : waits, ({ reason }) => reason);
  const [most] = [...groups.values()].sort((a, b) => b.length - a.length);
  const since = (most ?? []).flatMap(({ sinceMs }) => (sinceMs === undefined ? [] : [sinceMs]));
  // Ranges may be ten thousand: too many for the arguments of one call.
  const first = since.reduce<number | undefined>(
    (least, ms) => (least === undefined || ms < least ? ms : least),
    undefined,
  );
  return most?.[0] && { ...most[0], sinceMs: first };
}
