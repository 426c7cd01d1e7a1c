import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { type LagQuestion, LagState, lagOf, sumLag } from './lag.ts';

const NOW_MS = 1_800_000_000_000;

function question(options: {
  cursor?: number;
  logStart?: number;
  end?: number;
  oldestMs?: number;
  endAskedLater?: boolean;
}): LagQuestion {
  const { cursor, logStart = 0, end, oldestMs, endAskedLater = false } = options;
  return {
    cursor: cursor === undefined ? undefined : toOffset(cursor),
    cursorAtMs: NOW_MS - 500,
    offsets:
      end === undefined
        ? undefined
        : {
            partition: 0,
            logStartOffset: toOffset(logStart),
            lastStableOffset: toOffset(end),
            highWatermark: toOffset(end),
          },
    offsetsAtMs: endAskedLater ? NOW_MS - 100 : NOW_MS - 1_000,
    oldestTimestampMs: oldestMs === undefined ? undefined : BigInt(oldestMs),
    nowMs: NOW_MS,
  };
}

describe('lagOf', () => {
  it('L1: a cursor that is beyond an older look at the end has no lag, and not a negative one', () => {
    expect(lagOf(question({ cursor: 120, end: 100 }))).toEqual({ state: LagState.caughtUp, offsets: 0n, ageMs: 0 });
  });

  it('says it when the log, asked later, still ends below the cursor', () => {
    expect(lagOf(question({ cursor: 120, end: 100, endAskedLater: true }))).toMatchObject({
      state: LagState.aheadOfLog,
      offsets: 0n,
    });
  });

  it('L1: 70 records behind a settled offset 29 are a lag of 70', () => {
    expect(lagOf(question({ cursor: 29, end: 100, oldestMs: NOW_MS - 4_000 }))).toEqual({
      state: LagState.behind,
      offsets: 70n,
      ageMs: 4_000,
    });
  });

  it('L1: an end that nobody tells makes it unknown', () => {
    expect(lagOf(question({ cursor: 29 }))).toEqual({ state: LagState.unknown, offsets: undefined, ageMs: undefined });
  });

  it('L1: a cursor that nobody tells makes it unknown', () => {
    expect(lagOf(question({ end: 100 }))).toEqual({ state: LagState.unknown, offsets: undefined, ageMs: undefined });
  });

  it('an age that was not looked up is unknown, of a caught-up cursor it is zero', () => {
    expect(lagOf(question({ cursor: 29, end: 31 })).ageMs).toBeUndefined();
    expect(lagOf(question({ cursor: 30, end: 31 })).ageMs).toBe(0);
  });

  it('a clock that runs ahead gives no negative age', () => {
    expect(lagOf(question({ cursor: 0, end: 9, oldestMs: NOW_MS + 60_000 })).ageMs).toBe(0);
  });

  it('does not count records that are gone, and says that they are', () => {
    expect(lagOf(question({ cursor: 9, logStart: 50, end: 100, oldestMs: NOW_MS }))).toMatchObject({
      state: LagState.recordsRemoved,
      offsets: 50n,
    });
    expect(lagOf(question({ cursor: 9, logStart: 100, end: 100 }))).toMatchObject({
      state: LagState.recordsRemoved,
      offsets: 0n,
    });
  });

  it('offsets beyond 2^53 stay exact', () => {
    const end = 2n ** 62n + 1n;
    const offsets = {
      partition: 0,
      logStartOffset: toOffset(0),
      lastStableOffset: toOffset(end),
      highWatermark: toOffset(end),
    };
    expect(lagOf({ ...question({ cursor: 0 }), offsets }).offsets).toBe(end - 1n);
  });
});

describe('sumLag', () => {
  const behind = lagOf(question({ cursor: 29, end: 100, oldestMs: NOW_MS - 4_000 }));
  const unknown = lagOf(question({ cursor: 29 }));

  it('L1: a partition that is unknown does not lower the sum: it makes it a lower bound', () => {
    expect(sumLag([behind, unknown])).toEqual({
      offsets: 70n,
      isAtLeast: true,
      ageMs: 4_000,
      ageIsAtLeast: true,
    });
    expect(sumLag([unknown])).toMatchObject({ offsets: undefined, isAtLeast: true, ageMs: undefined });
  });

  it('of nothing is zero, and of all that is known the sum and the oldest age', () => {
    expect(sumLag([])).toEqual({ offsets: 0n, isAtLeast: false, ageMs: 0, ageIsAtLeast: false });
    expect(sumLag([behind, behind])).toMatchObject({ offsets: 140n, isAtLeast: false, ageMs: 4_000 });
  });
});
