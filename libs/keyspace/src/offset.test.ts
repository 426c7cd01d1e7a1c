import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FIXED_WIDTH, fromFixedWidth, toFixedWidth } from './fixed-width.ts';
import { BEFORE_FIRST, cursorBefore, nextOffsetOf, offsetMax, offsetMin, toOffset } from './offset.ts';

const OFFSET_MAX = 2n ** 63n - 1n;
const offsets = fc.bigInt({ min: -1n, max: OFFSET_MAX }).map((value) => toOffset(value));

describe('offsets', () => {
  it('are int64 from -1 on, in any spelling', () => {
    expect([toOffset('9223372036854775807'), toOffset(-1), toOffset(0n)]).toEqual([OFFSET_MAX, -1n, 0n]);
    for (const wrong of [-2n, OFFSET_MAX + 1n, '', ' 1', '0x10', '1.5', 'x', Number.NaN, 0.5]) {
      expect(() => toOffset(wrong)).toThrow(RangeError);
    }
  });

  it('a cursor and the next offset are one apart, over the ends too', () => {
    expect(nextOffsetOf(BEFORE_FIRST)).toBe(0n);
    expect(cursorBefore(toOffset(0))).toBe(BEFORE_FIRST);
    expect(() => cursorBefore(BEFORE_FIRST)).toThrow(RangeError);
    expect(() => nextOffsetOf(toOffset(OFFSET_MAX))).toThrow(RangeError);
  });

  it('compare as numbers do', () => {
    fc.assert(
      fc.property(offsets, offsets, (a, b) => {
        expect([offsetMin(a, b), offsetMax(a, b)]).toEqual(a < b ? [a, b] : [b, a]);
      }),
    );
  });
});

describe('fixed width', () => {
  it('D4: sorts as text as the offsets do, keeps every digit and its width', () => {
    fc.assert(
      fc.property(offsets, offsets, (a, b) => {
        const [textA, textB] = [toFixedWidth(a), toFixedWidth(b)];
        expect([textA.length, fromFixedWidth(textA)]).toEqual([FIXED_WIDTH, a]);
        expect(textA < textB).toBe(a < b);
      }),
    );
    expect(toFixedWidth(BEFORE_FIRST)).toBe('-0000000000000000001');
    expect(toFixedWidth(toOffset(2n ** 53n + 1n))).toBe('00009007199254740993');
  });

  it('refuses any other text', () => {
    for (const text of [
      '',
      '1',
      '0'.repeat(19),
      '0'.repeat(21),
      `-${'0'.repeat(18)}2`,
      `+${'0'.repeat(19)}`,
      ' '.repeat(20),
      `${'9'.repeat(20)}`,
    ]) {
      expect(() => fromFixedWidth(text)).toThrow(RangeError);
    }
  });
});
