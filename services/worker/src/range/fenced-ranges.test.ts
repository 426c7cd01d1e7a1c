import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { FencedRanges } from './fenced-ranges.ts';

it('doubles the pause of a range up to a bound, and begins anew when its cursor has moved', () => {
  const ranges = new FencedRanges();
  const at = (cursor: number, rangeId = 'r') =>
    ranges.releaseDelayMs({ jobId: 'job', rangeId, cursor: toOffset(cursor) });
  expect(Array.from({ length: 10 }, () => at(5)).slice(-3)).toEqual([25_600, 30_000, 30_000]);
  expect(at(5, 'other')).toBe(200);
  expect(at(6)).toBe(200);
  expect(at(6)).toBe(400);
});
