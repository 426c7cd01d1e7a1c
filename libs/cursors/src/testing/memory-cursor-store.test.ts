import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { cursorStoreContract } from './cursor-store.contract.ts';
import { createMemoryCursorStore } from './memory-cursor-store.ts';
import { installSample, slotOn } from './sample-jobs.ts';

cursorStoreContract('in memory', async () => createMemoryCursorStore({ now: Date.now }));

it('is incomplete in another life, until a younger epoch is installed', async () => {
  const store = createMemoryCursorStore({ now: () => 0 });
  const range = { partition: 0, start: toOffset(-1n) };
  await installSample(store, { jobId: 'job', epoch: 3n, ranges: [{ start: -1n }] });
  const slot = slotOn(store, { slot: 'a', jobId: 'job', range });
  const token = await slot.granted();
  store.restart();
  expect(await slot.claim(token, 9n)).toEqual({ kind: 'incomplete' });
  expect(await store.snapshot('job')).toBeUndefined();
  // This epoch may have granted tokens that the copy of now has forgotten.
  expect(await installSample(store, { jobId: 'job', epoch: 3n, ranges: [{ start: -1n }] })).toEqual({
    kind: 'stale epoch',
    epoch: 3n,
  });
  await installSample(store, { jobId: 'job', epoch: 4n, ranges: [{ start: -1n }] });
  expect(await slot.claim(token, 9n)).toEqual({ kind: 'fenced' });
  store.loseEverything();
  expect(await slot.lease()).toEqual({ kind: 'incomplete' });
});

it('lets a lease run out on its own clock', async () => {
  let nowMs = 1_000;
  const store = createMemoryCursorStore({ now: () => nowMs });
  const range = { partition: 0, start: toOffset(-1n) };
  await installSample(store, { jobId: 'job', ranges: [{ start: -1n }] });
  await slotOn(store, { slot: 'a', jobId: 'job', range }).granted(500);
  const b = slotOn(store, { slot: 'b', jobId: 'job', range });
  nowMs = 1_499;
  expect(await b.lease()).toEqual({ kind: 'busy', readyAtMs: 1_500 });
  nowMs = 1_500;
  expect((await b.lease()).kind).toBe('granted');
});
