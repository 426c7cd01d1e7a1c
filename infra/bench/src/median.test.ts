import { expect, it } from 'vitest';
import { median } from './median.ts';

it.each([
  [[3, 1, 2], 2],
  [[4, 1, 3, 2], 2.5],
  [[7], 7],
])('the median of %j is %d', (values, expected) => {
  expect(median(values)).toBe(expected);
});

it('has none of nothing', () => {
  expect(() => median([])).toThrow(RangeError);
});
