import { expect, it } from 'vitest';
import { createPermits } from './permits.ts';

it('lets so many in at once, the others in their order', async () => {
  const permits = createPermits(2);
  const entered: number[] = [];
  const all = [0, 1, 2, 3].map(async (place) => {
    await permits.take();
    entered.push(place);
  });
  await Promise.all(all.slice(0, 2));
  expect(entered).toEqual([0, 1]);
  permits.give();
  await all[2];
  permits.give();
  await all[3];
  expect(entered).toEqual([0, 1, 2, 3]);
  expect(permits.mostTaken).toBe(2);
});
