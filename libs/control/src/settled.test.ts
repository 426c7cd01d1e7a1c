import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { settledProgress, settledUpTo } from './settled.ts';

function range(start: number, end: number, cursor: number, parked: readonly number[] = []) {
  return {
    partition: 0,
    start: toOffset(start),
    end: toOffset(end),
    cursor: toOffset(cursor),
    parked: parked.map((offset) => ({ offset: toOffset(offset) })),
  };
}
const WINDOW = { partition: 0, start: toOffset(-1), end: toOffset(99) };

it('the contiguous prefix ends before the first parked record, and goes on over a range that is done', () => {
  expect(settledUpTo(WINDOW, [range(-1, 49, 49, [20, 30]), range(49, 99, 99)])).toBe(19n);
  expect(settledUpTo(WINDOW, [range(-1, 49, 49), range(49, 99, 70, [60])])).toBe(59n);
});

it('of an unknown partition there is no prefix, of an empty one it is its start', () => {
  expect(settledUpTo(WINDOW, [])).toBeUndefined();
  expect(settledUpTo({ ...WINDOW, end: WINDOW.start }, [])).toBe(-1n);
});

it('a job with everything passed and one record parked is not at 100 %', () => {
  expect(settledProgress([range(-1, 99, 99, [42])])).toEqual({ offsetsTotal: 100n, offsetsDone: 99n, percent: 99 });
});
