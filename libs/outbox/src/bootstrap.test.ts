import { expect, it } from 'vitest';
import { nextChunkRows, rowsAllowed } from './bootstrap.ts';
import { BOOTSTRAP_CHUNK_MS_MAX } from './limits.ts';

it('fills the backlog up to its bound, and then waits until half of it is published', () => {
  const allowed = (backlogRows: number): number => rowsAllowed({ backlogRows, backlogRowsMax: 100 });
  expect([0, 50, 51, 100, 101].map(allowed)).toEqual([100, 50, 0, 0, 0]);
});

it('always allows a row when nothing waits, however small the bound', () => {
  expect(rowsAllowed({ backlogRows: 0, backlogRowsMax: 1 })).toBe(1);
});

it('comes down to a locked row in a few steps, and back up from it', () => {
  const sizes = [1_000];
  while (sizes.at(-1) !== 1) sizes.push(nextChunkRows({ rows: sizes.at(-1) ?? 0, tookMs: null }, 1_000));
  expect(sizes).toEqual([1_000, 250, 62, 15, 3, 1]);
  expect(nextChunkRows({ rows: 1, tookMs: null }, 1_000)).toBe(1);
  expect(nextChunkRows({ rows: 1, tookMs: 2 }, 1_000)).toBe(2);
  expect(nextChunkRows({ rows: 600, tookMs: 2 }, 1_000)).toBe(1_000);
});

it('takes fewer rows when a chunk takes long, because its locks make writers wait', () => {
  const next = (tookMs: number): number => nextChunkRows({ rows: 100, tookMs }, 1_000);
  expect(next(BOOTSTRAP_CHUNK_MS_MAX + 1)).toBe(50);
  expect(next(BOOTSTRAP_CHUNK_MS_MAX)).toBe(100);
  expect(next(BOOTSTRAP_CHUNK_MS_MAX / 2 - 1)).toBe(200);
});
