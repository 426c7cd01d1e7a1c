import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Offset, toOffset } from './offset.ts';
import {
  contiguousPrefix,
  isEmpty,
  rangeIdOf,
  rangeOfId,
  splitWindow,
  tiles,
  type Window,
  windowSize,
} from './window.ts';

const offset = fc.bigInt({ min: -1n, max: 2n ** 62n }).map((value) => toOffset(value));
const smallOffset = fc.integer({ min: -1, max: 60 }).map((value) => toOffset(value));

function windowsOf(bound: fc.Arbitrary<Offset>): fc.Arbitrary<Window> {
  return fc.tuple(bound, bound).map(([a, b]) => (a < b ? { start: a, end: b } : { start: b, end: a }));
}

function windowOf(start: number, end: number): Window {
  return { start: toOffset(start), end: toOffset(end) };
}

/** The definition, offset by offset. */
function members(window: Window): bigint[] {
  const found: bigint[] = [];
  for (let at = window.start + 1n; at <= window.end; at++) found.push(at);
  return found;
}

describe('windows', () => {
  it('A5: an inverted or equal pair of bounds is empty, of size zero', () => {
    expect([
      windowSize(windowOf(5, 5)),
      windowSize(windowOf(5, 2)),
      isEmpty(windowOf(5, 2)),
      isEmpty(windowOf(-1, 0)),
    ]).toEqual([0n, 0n, true, false]);
  });
});

describe('splitting', () => {
  it('tiles the window, with no part empty and none larger than another by more than one', () => {
    fc.assert(
      fc.property(windowsOf(offset), fc.integer({ min: 1, max: 64 }), fc.integer(), (window, parts, seed) => {
        const ranges = splitWindow(window, parts);
        expect(tiles(window, shuffled(ranges, seed))).toBe(true);
        if (isEmpty(window)) return;
        const sizes = ranges.map(windowSize);
        const least = windowSize(window) / BigInt(ranges.length);
        expect(sizes.every((size) => size > 0n && (size === least || size === least + 1n))).toBe(true);
        expect(BigInt(ranges.length)).toBe(windowSize(window) < BigInt(parts) ? windowSize(window) : BigInt(parts));
      }),
    );
  });

  it('refuses a number of parts that is none', () => {
    for (const parts of [0, -1, 1.5, Number.NaN]) expect(() => splitWindow(windowOf(0, 9), parts)).toThrow(RangeError);
  });

  it('is not tiled by ranges with a hole, an overlap, or a bound of their own', () => {
    const window = windowOf(0, 10);
    expect(tiles(window, [windowOf(0, 4), windowOf(5, 10)])).toBe(false);
    expect(tiles(window, [windowOf(0, 6), windowOf(5, 10)])).toBe(false);
    expect(tiles(window, [windowOf(0, 9)])).toBe(false);
    expect(tiles(window, [windowOf(-1, 10)])).toBe(false);
    expect(tiles(window, [windowOf(4, 10), windowOf(0, 4)])).toBe(true);
    expect([tiles(windowOf(3, 3), []), tiles(window, [])]).toEqual([true, false]);
  });
});

describe('the contiguous prefix', () => {
  it('F1: is the last offset below which nothing is unsettled, whatever is done ahead', () => {
    const ranges = fc.tuple(
      windowsOf(smallOffset),
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.nat(), { minLength: 6, maxLength: 6 }),
      fc.integer(),
    );
    fc.assert(
      fc.property(ranges, ([window, parts, progress, seed]) => {
        const cut = splitWindow(window, parts).map((range, index) => {
          const done = BigInt(progress[index] ?? 0) % (windowSize(range) + 1n);
          return { ...range, cursor: toOffset(range.start + done) };
        });
        const settled = new Set(cut.flatMap(({ start, cursor }) => members({ start, end: cursor })));
        const firstUnsettled = members(window).find((at) => !settled.has(at));
        expect(contiguousPrefix(window, shuffled(cut, seed))).toBe(
          firstUnsettled === undefined ? window.end : firstUnsettled - 1n,
        );
      }),
    );
  });

  it('stops at a hole between ranges', () => {
    const range = (start: number, end: number, cursor: number) => ({
      ...windowOf(start, end),
      cursor: toOffset(cursor),
    });
    expect(contiguousPrefix(windowOf(0, 9), [range(0, 4, 4), range(5, 9, 9)])).toBe(4n);
    expect(contiguousPrefix(windowOf(0, 9), [range(2, 9, 9)])).toBe(0n);
    expect(contiguousPrefix(windowOf(0, 9), [])).toBe(0n);
  });
});

describe('the id of a range', () => {
  it('names partition and start, and sorts by them', () => {
    const ref = fc.record({ partition: fc.nat({ max: 2 ** 31 - 1 }), start: offset });
    fc.assert(
      fc.property(ref, ref, (a, b) => {
        expect(rangeOfId(rangeIdOf(a))).toEqual(a);
        const before = a.partition < b.partition || (a.partition === b.partition && a.start < b.start);
        expect(rangeIdOf(a) < rangeIdOf(b)).toBe(before);
      }),
    );
    for (const text of ['', '1', '0000000001:', '0000000001:5']) expect(() => rangeOfId(text)).toThrow(RangeError);
  });
});

/** Any order will do; a seed makes it repeatable. */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  const keyed = items.map((item, index) => ({ item, key: Math.imul(index + 1, seed | 1) >>> 0 }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
