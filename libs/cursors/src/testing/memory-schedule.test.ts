import { expect, it } from 'vitest';
import { createMemorySchedule } from './memory-schedule.ts';
import { scheduleContract } from './schedule.contract.ts';

scheduleContract('in memory', async () => createMemorySchedule({ now: Date.now }));

it('forgets after half a minute what a job was said to wait for', async () => {
  let nowMs = 1_000;
  const schedule = createMemorySchedule({ now: () => nowMs });
  await schedule.noteWaiting({ jobId: 'a', reason: 'breaker mail' });
  nowMs += 30_000;
  expect([...(await schedule.waiting())]).toEqual([['a', { reason: 'breaker mail', atMs: 1_000 }]]);
  nowMs += 1;
  expect((await schedule.waiting()).size).toBe(0);
});
