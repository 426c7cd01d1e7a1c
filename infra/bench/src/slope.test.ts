import { expect, it } from 'vitest';
import { slopeOf } from './slope.ts';

it('is that of points on a line', () => {
  expect(slopeOf([0, 1, 5].map((x) => ({ x, y: 100 + 3 * x })))).toBeCloseTo(3, 12);
});

it('is level between points that differ without a direction', () => {
  const points = [
    { x: 1, y: 10 },
    { x: 2, y: 14 },
    { x: 3, y: 10 },
  ];
  expect(slopeOf(points)).toBe(0);
});

it('needs two places', () => {
  expect(() => slopeOf([{ x: 1, y: 1 }])).toThrow(RangeError);
});
