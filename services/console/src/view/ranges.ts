/** Ranges as an operator sees them: who works, who waits, and for what. */
import { type RangeView, RangeWord, type Waiting, wordOfRange } from '@tidemark/control';
import { identityOf } from '@tidemark/jobs';
import { rangeIdOf } from '@tidemark/keyspace';
import type { Paces } from '../collect/paces.ts';
import type { Range } from './schemas.ts';
import { countersText, secondsOf, waitingView } from './words.ts';

export interface Share {
  readonly settled: bigint;
  readonly parked: bigint;
  readonly inFlight: bigint;
  readonly waiting: bigint;
  readonly stopped: bigint;
}

/** Every offset of the ranges is in one of the five. What was handed out by an owner that let go waits again. */
export function shareOf(ranges: readonly RangeView[]): Share {
  let settled = 0n;
  let parked = 0n;
  let inFlight = 0n;
  let waiting = 0n;
  let stopped = 0n;
  for (const { start, cursor, end, horizon, owner, status, parked: own } of ranges) {
    parked += BigInt(own.length);
    settled += cursor - start - BigInt(own.length);
    const rest = end - cursor;
    const handedOut = owner === '' || horizon === undefined || horizon <= cursor ? 0n : horizon - cursor;
    const flying = handedOut < rest ? handedOut : rest;
    if (status === 'stopped') stopped += rest;
    else {
      inFlight += flying;
      waiting += rest - flying;
    }
  }
  return { settled, parked, inFlight, waiting, stopped };
}

export function countRanges(ranges: readonly RangeView[], storeNowMs: number) {
  const words = ranges.map((range) => wordOfRange(range, storeNowMs));
  const count = (word: RangeWord) => words.filter((each) => each === word).length;
  return {
    total: ranges.length,
    done: count(RangeWord.done),
    working: count(RangeWord.working),
    waiting: count(RangeWord.waiting),
    expired: count(RangeWord.expired),
    stopped: count(RangeWord.stopped),
  };
}

export interface RangeContext {
  readonly jobId: string;
  readonly storeNowMs: number;
  readonly paces: Paces;
}

export function rangeRow(
  range: RangeView & { readonly waiting: Waiting | undefined },
  { jobId, storeNowMs, paces }: RangeContext,
): Range {
  const word = wordOfRange(range, storeNowMs);
  const leaseKnown = range.owner !== '' && range.leaseUntilMs !== undefined;
  return {
    partition: range.partition,
    start: range.start.toString(),
    cursor: range.cursor.toString(),
    horizon: range.horizon === undefined ? null : range.horizon.toString(),
    end: range.end.toString(),
    status: word,
    owner: range.owner,
    leaseSecondsLeft: leaseKnown ? Math.max(0, secondsOf((range.leaseUntilMs ?? 0) - storeNowMs)) : null,
    note: range.note,
    waiting: waitingView(range.waiting, storeNowMs),
    parked: parkedView(range, storeNowMs),
    perSecond: word === RangeWord.working ? (paces.ofRange(jobId, range)?.perSecond ?? null) : null,
    counters: countersText(range.counters),
    addsUp: identityOf(range).kind === 'holds',
  };
}

/** Records that wait behind another of their key have no time of their own. */
function parkedView({ parked }: RangeView, storeNowMs: number): Range['parked'] {
  const due = parked.flatMap(({ attempt, dueAtMs }) => (attempt === 0 ? [] : [dueAtMs]));
  const next = due.reduce<number | undefined>(
    (least, ms) => (least === undefined || ms < least ? ms : least),
    undefined,
  );
  return {
    records: parked.length,
    lowest: parked[0]?.offset.toString() ?? null,
    nextDueSeconds: next === undefined ? null : Math.max(0, secondsOf(next - storeNowMs)),
  };
}

/** By partition and start, as the log has them. */
export function inOrder<Some extends RangeView>(ranges: readonly Some[]): readonly Some[] {
  return [...ranges].sort((a, b) => (rangeIdOf(a) < rangeIdOf(b) ? -1 : 1));
}
