import { type Offset, toOffset } from '@tidemark/keyspace';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { settledPrefixOf } from './settled-prefix.ts';

const window = (partition: number, start: number, end: number) => ({
  partition,
  start: toOffset(start),
  end: toOffset(end),
});
const range = (partition: number, start: number, cursor: number, parked: readonly number[] = []) => ({
  partition,
  start: toOffset(start),
  cursor: toOffset(cursor),
  parked: parked.map((offset) => ({ offset: toOffset(offset) })),
});

it('ends where the first range is not done, whatever is settled behind it', () => {
  const windows = [window(0, -1, 99), window(1, 9, 19), window(2, 5, 5)];
  const ranges = [range(0, 49, 99), range(0, -1, 20), range(1, 9, 19)];
  expect(settledPrefixOf(windows, ranges).map(({ settledTo }) => settledTo)).toEqual([20n, 19n, 5n]);
});

it('ends before the lowest parked record', () => {
  const windows = [window(0, -1, 99)];
  expect(settledPrefixOf(windows, [range(0, -1, 49, [7, 30]), range(0, 49, 60)])).toMatchObject([{ settledTo: 6n }]);
  expect(settledPrefixOf(windows, [range(0, -1, 49, [0]), range(0, 49, 60)])).toMatchObject([{ settledTo: -1n }]);
});

it('is the last offset below which nothing is unsettled', () => {
  const settledFlags = fc.array(fc.boolean(), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(settledFlags, fc.uniqueArray(fc.nat(28), { maxLength: 4 }), (settled, cuts) => {
      const end = settled.length - 1;
      const starts = [-1, ...cuts.filter((cut) => cut < end)];
      const ranges = starts.map((start) => {
        const last = Math.min(end, ...starts.filter((other) => other > start));
        // The cursor stands at any place behind which nothing was settled; unsettled records before it are parked.
        const own = settled.flatMap((isSettled, offset) =>
          isSettled && offset > start && offset <= last ? [offset] : [],
        );
        const cursor = Math.max(start, ...own);
        const parked = settled.flatMap((isSettled, offset) =>
          !isSettled && offset > start && offset < cursor ? [offset] : [],
        );
        return range(0, start, cursor, parked);
      });
      const firstHole = settled.indexOf(false);
      const expected: Offset = toOffset(firstHole === -1 ? end : firstHole - 1);
      expect(settledPrefixOf([window(0, -1, end)], ranges)[0]?.settledTo).toBe(expected);
    }),
  );
});
