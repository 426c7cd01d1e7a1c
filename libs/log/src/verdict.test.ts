import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { verdictOf } from './verdict.ts';

function judged(nextOffset: number, log: { start?: number; stable?: number; high: number }, end = 1_000) {
  const { start = 0, stable = log.high, high } = log;
  const offsets = {
    partition: 0,
    logStartOffset: toOffset(start),
    lastStableOffset: toOffset(stable),
    highWatermark: toOffset(high),
  };
  return verdictOf({ nextOffset: toOffset(nextOffset), end: toOffset(end) }, offsets);
}

describe('the verdict over a position that yielded nothing', () => {
  it('B1: below the log start is lost, clipped to the asked end', () => {
    expect(judged(20, { start: 50, high: 100 })).toEqual({ kind: 'lost', first: 20n, last: 49n, logStartOffset: 50n });
    expect(judged(20, { start: 100, high: 100 }, 99)).toEqual({
      kind: 'lost',
      first: 20n,
      last: 99n,
      logStartOffset: 100n,
    });
    expect(judged(20, { start: 500, high: 900 }, 99)).toMatchObject({ last: 99n });
  });

  it('A8: a log start at the position is no loss', () => {
    expect(judged(50, { start: 50, high: 100 })).toEqual({ kind: 'readable' });
  });

  it('B6: above the high watermark the log went back', () => {
    expect(judged(81, { high: 60 })).toEqual({ kind: 'log went back', highWatermark: 60n });
  });

  it('at the high watermark the log ends, also when a transaction is open below', () => {
    expect(judged(60, { high: 60 })).toEqual({ kind: 'end of log', highWatermark: 60n });
    expect(judged(60, { stable: 10, high: 60 })).toMatchObject({ kind: 'end of log' });
  });

  it('between last stable offset and high watermark an open transaction holds the log', () => {
    expect(judged(10, { stable: 10, high: 60 })).toEqual({
      kind: 'open transaction',
      lastStableOffset: 10n,
      highWatermark: 60n,
    });
    expect(judged(30, { stable: 10, high: 60 })).toMatchObject({ kind: 'open transaction' });
  });
});
