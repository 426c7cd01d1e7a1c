import { expect, it } from 'vitest';
import { remember } from './remember.ts';

it('keeps the newest entries, and one that is remembered again is new', () => {
  const entries = new Map<string, number>();
  for (const [value, key] of ['a', 'b', 'a', 'c'].entries()) remember(entries, { key, value, max: 2 });
  expect([...entries]).toEqual([
    ['a', 2],
    ['c', 3],
  ]);
});
