import fc from 'fast-check';
import { expect, it } from 'vitest';
import { mergeIntervals, type OffsetInterval, sizeOfIntervals, subtractIntervals } from './intervals.ts';

const interval = fc
  .tuple(fc.integer({ min: -1, max: 40 }), fc.nat(6))
  .map(([first, length]) => ({ first: BigInt(first), last: BigInt(first + length) }));
const intervals = fc.array(interval, { maxLength: 8 });

function offsetsOf(all: readonly OffsetInterval[]): Set<bigint> {
  const offsets = new Set<bigint>();
  for (const { first, last } of all) for (let offset = first; offset <= last; offset++) offsets.add(offset);
  return offsets;
}

it('merged intervals hold the same offsets, in order and with something between any two', () => {
  fc.assert(
    fc.property(intervals, (all) => {
      const merged = mergeIntervals(all);
      expect(offsetsOf(merged)).toEqual(offsetsOf(all));
      expect(sizeOfIntervals(merged)).toBe(BigInt(offsetsOf(all).size));
      for (const [index, { first }] of merged.entries())
        if (index > 0) expect(first).toBeGreaterThan((merged[index - 1]?.last ?? 0n) + 1n);
    }),
  );
});

it('a difference is what the one has and the other has not', () => {
  fc.assert(
    fc.property(intervals, intervals, (from, taken) => {
      const left = subtractIntervals(mergeIntervals(from), mergeIntervals(taken));
      const expected = [...offsetsOf(from)].filter((offset) => !offsetsOf(taken).has(offset));
      expect(offsetsOf(left)).toEqual(new Set(expected));
      expect(left).toEqual(mergeIntervals(left));
    }),
  );
});
