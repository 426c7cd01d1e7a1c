/**
 * How far a cursor is behind its log, in offsets and in time: pure. A lag that is not known is undefined; it is never
 * negative and never a made-up zero.
 */
import { nextOffsetOf, type Offset, offsetMax } from '@tidemark/keyspace';
import type { PartitionOffsets } from '@tidemark/log';

export const LagState = {
  caughtUp: 'caught up',
  behind: 'behind',
  /** The log begins above the next record that the cursor needs. */
  recordsRemoved: 'records removed',
  /** The log is shorter than the cursor says, although it was asked later. */
  aheadOfLog: 'cursor ahead of the log',
  unknown: 'unknown',
} as const;
export type LagState = (typeof LagState)[keyof typeof LagState];

export interface LagQuestion {
  /** Everything up to here is settled. */
  /** Undefined while nobody tells. */
  readonly cursor: Offset | undefined;
  /** When the answer was there: the log held everything up to the cursor by then. */
  readonly cursorAtMs: number;
  /** Undefined while the broker does not tell. */
  readonly offsets: PartitionOffsets | undefined;
  /** When it was asked: the log may have grown since. */
  readonly offsetsAtMs: number;
  /** Timestamp of the oldest record that is not settled; undefined while nobody has looked. */
  readonly oldestTimestampMs: bigint | undefined;
  readonly nowMs: number;
}

export interface Lag {
  readonly state: LagState;
  /** Offsets between the cursor and the end of the log, records that are gone not counted. */
  readonly offsets: bigint | undefined;
  /** Age of the oldest record that is not settled; 0 when there is none. */
  readonly ageMs: number | undefined;
}

const UNKNOWN: Lag = { state: LagState.unknown, offsets: undefined, ageMs: undefined };
const NONE: Lag = { state: LagState.caughtUp, offsets: 0n, ageMs: 0 };

export function lagOf(question: LagQuestion): Lag {
  const { cursor, offsets, oldestTimestampMs, nowMs } = question;
  if (cursor === undefined || offsets === undefined) return UNKNOWN;
  const next = nextOffsetOf(cursor);
  if (next > offsets.highWatermark) {
    // Two looks at different instants may cross, which is no lag; an end that was asked after the cursor cannot be older.
    return question.offsetsAtMs > question.cursorAtMs ? { ...NONE, state: LagState.aheadOfLog } : NONE;
  }
  const behind = offsets.highWatermark - offsetMax(next, offsets.logStartOffset);
  const wasCut = next < offsets.logStartOffset;
  if (behind === 0n) return wasCut ? { ...NONE, state: LagState.recordsRemoved } : NONE;
  return {
    state: wasCut ? LagState.recordsRemoved : LagState.behind,
    offsets: behind,
    // Clocks of producers may run ahead of ours.
    ageMs: oldestTimestampMs === undefined ? undefined : Math.max(0, nowMs - Number(oldestTimestampMs)),
  };
}

export interface LagSum {
  /** Undefined when nothing at all is known. */
  readonly offsets: bigint | undefined;
  /** Some partition is unknown, so the true sum may be larger. */
  readonly isAtLeast: boolean;
  /** The oldest of all whose age is known. */
  readonly ageMs: number | undefined;
  readonly ageIsAtLeast: boolean;
}

/** Of no lags it is an exact zero, so whoever knows of partitions that are not known gives each of them an unknown lag. */
export function sumLag(lags: readonly Lag[]): LagSum {
  const known = lags.flatMap(({ offsets }) => (offsets === undefined ? [] : [offsets]));
  const ages = lags.flatMap(({ ageMs }) => (ageMs === undefined ? [] : [ageMs]));
  return {
    offsets: lags.length > 0 && known.length === 0 ? undefined : known.reduce((sum, offsets) => sum + offsets, 0n),
    isAtLeast: known.length < lags.length,
    ageMs: lags.length > 0 && ages.length === 0 ? undefined : Math.max(0, ...ages),
    ageIsAtLeast: ages.length < lags.length,
  };
}
