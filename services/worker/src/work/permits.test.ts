import { createMemorySchedule } from '@tidemark/cursors/testing';
import { silentLogger } from '@tidemark/observability';
import { waitFor } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { jobDefinition } from '../testing/job-definition.ts';
import { Permits } from './permits.ts';

/** So short that a renewal comes at once. */
const LEASE_TTL_MS = 15;

it('is given back for good, also when a renewal was on its way', async () => {
  const schedule = createMemorySchedule({ now: () => 0 });
  const gate = Promise.withResolvers<void>();
  let asked = 0;
  let renewed = 0;
  const slow = {
    returnPermit: schedule.returnPermit,
    permit: async (request: Parameters<typeof schedule.permit>[0]) => {
      asked += 1;
      if (asked === 1) return await schedule.permit(request);
      await gate.promise;
      const answer = await schedule.permit(request);
      renewed += 1;
      return answer;
    },
  };
  const job = jobDefinition({ concurrency: 1 });
  const permits = new Permits({ schedule: slow, rangesMax: 0, leaseTtlMs: LEASE_TTL_MS, logger: silentLogger });
  const permit = await permits.take(job, 'w/0');
  await waitFor('a renewal', () => asked > 1);
  await permit?.giveBack();
  gate.resolve();
  await waitFor('its answer', () => renewed > 0);
  const another = { jobId: job.jobId, slot: 'w/1', jobMax: 1, allMax: 0, ttlMs: 1_000 };
  expect(await waitFor('the permit', async () => (await schedule.permit(another)).kind === 'granted')).toBe(true);
});
