import { expect, it } from 'vitest';
import { inSlices } from './in-slices.ts';

it('works on every item, and on no more at once than it may', async () => {
  const done: number[] = [];
  let running = 0;
  let most = 0;
  await inSlices([1, 2, 3, 4, 5], { atOnce: 2 }, async (item) => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running -= 1;
    done.push(item);
  });
  expect(done).toEqual([1, 2, 3, 4, 5]);
  expect(most).toBe(2);
});
