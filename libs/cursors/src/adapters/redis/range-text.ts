/** Ranges on their way into and out of the scripts. */
import {
  COUNTER_NAMES,
  fromFixedWidth,
  mergeIntervals,
  NO_COUNTS,
  type RangeCounters,
  RangeStatus,
  rangeOfId,
  toFixedWidth,
  toOffset,
} from '@tidemark/keyspace';
import type { InstalledRange } from '../../installation.ts';
import { inOffsetOrder } from '../../parked-order.ts';
import type { LostInterval, ParkedRecord, Parking, RangeState } from '../../ports.ts';

const PARKED_FIELD = 'parked:';
const GONE_FIELD = 'gone:';

/** One entry of a snapshot: id, end, the fields in the order of snapshot.lua, the lost intervals, then the parked records. */
export function readRange(entry: readonly string[]): RangeState {
  const [rangeId = '', end = '', cursor = '', horizon = '', status, note = '', noteSinceMs, lost = '', ...more] = entry;
  const [owner = '', token = '', leaseUntilMs, notBeforeMs, version = '', ...rest] = more;
  const counts = rest.slice(0, COUNTER_NAMES.length);
  const records = rest.slice(COUNTER_NAMES.length + 1);
  const goneValues = 2 * Number(rest[COUNTER_NAMES.length]);
  return {
    ...rangeOfId(rangeId),
    end: fromFixedWidth(end),
    cursor: fromFixedWidth(cursor),
    horizon: fromFixedWidth(horizon),
    status: status === RangeStatus.done ? 'done' : status === RangeStatus.stopped ? 'stopped' : 'open',
    note,
    noteSinceMs: Number(noteSinceMs),
    lost: readLost(lost),
    passed: readPassed(records.slice(0, goneValues)),
    parked: readParked(records.slice(goneValues)),
    counters: readCounters(counts),
    owner,
    token,
    leaseUntilMs: Number(leaseUntilMs),
    notBeforeMs: Number(notBeforeMs),
    version: BigInt(version),
  };
}

/** The values of one range in the order of install-put.lua. */
export function writeRange(range: InstalledRange): readonly string[] {
  return [
    range.rangeId,
    toFixedWidth(range.cursor),
    toFixedWidth(range.horizon),
    range.status,
    range.note,
    writeLost(range.lost),
    range.version.toString(),
    range.note === '' ? '0' : '1',
    ...writeCounters(range.counters),
    String(range.parked.length),
    String(range.passed.length),
    ...range.parked.flatMap(({ offset, attempt, dueAtMs, faultClass, keyHash }) => [
      toFixedWidth(offset),
      `${attempt} ${dueAtMs} ${faultClass} ${keyHash}`,
    ]),
    ...intervalTexts(range.passed),
  ];
}

/** How many, then two values each, as passLost() in prelude-range.lua wants them. */
export function writePassed(passed: readonly LostInterval[]): readonly string[] {
  return [String(passed.length), ...intervalTexts(passed)];
}

function intervalTexts(intervals: readonly LostInterval[]): readonly string[] {
  return intervals.flatMap(({ first, last }) => [toFixedWidth(first), toFixedWidth(last)]);
}

/** Field name and text in turn; each call that passed some left its own. */
function readPassed(values: readonly string[]): readonly LostInterval[] {
  const intervals: LostInterval[] = [];
  for (let i = 0; i < values.length; i += 2) {
    const first = fromFixedWidth((values[i] ?? '').slice(GONE_FIELD.length));
    intervals.push({ first, last: fromFixedWidth(values[i + 1] ?? '') });
  }
  return mergeIntervals(intervals);
}

/** Four values each, as park() in prelude-range.lua wants them. */
export function writeParkings(parkings: readonly Parking[]): readonly string[] {
  return parkings.flatMap(({ offset, attempt, delayMs, faultClass, keyHash }) => [
    toFixedWidth(offset),
    String(attempt),
    String(delayMs),
    `${faultClass} ${keyHash}`,
  ]);
}

/** Field name and text in turn, as addParked() in prelude-parked.lua gives them; in offset order. */
export function readParked(values: readonly string[]): readonly ParkedRecord[] {
  const records: ParkedRecord[] = [];
  for (let i = 0; i < values.length; i += 2) {
    const [attempt, dueAtMs, faultClass = '', keyHash = ''] = (values[i + 1] ?? '').split(' ');
    const offset = fromFixedWidth((values[i] ?? '').slice(PARKED_FIELD.length));
    records.push({ offset, attempt: Number(attempt), dueAtMs: Number(dueAtMs), faultClass, keyHash });
  }
  return inOffsetOrder(records);
}

export function writeCounters(counters: RangeCounters): readonly string[] {
  return COUNTER_NAMES.map((name) => counters[name].toString());
}

export function writeLost(lost: readonly LostInterval[]): string {
  return JSON.stringify(lost.map(({ first, last }) => [first.toString(), last.toString()]));
}

function readLost(text: string): readonly LostInterval[] {
  const pairs = JSON.parse(text) as readonly (readonly [string, string])[];
  return pairs.map(([first, last]) => ({ first: toOffset(first), last: toOffset(last) }));
}

function readCounters(counts: readonly string[]): RangeCounters {
  const counters = { ...NO_COUNTS };
  for (const [index, name] of COUNTER_NAMES.entries()) counters[name] = BigInt(counts[index] ?? '0');
  return counters;
}
