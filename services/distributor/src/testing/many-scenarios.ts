/** Many jobs at once, and a job of many ranges: what a round costs must not depend on how many others there are. */
import { RANGES_PER_JOB_MAX } from '@tidemark/keyspace';
import { waitFor } from '@tidemark/testkit';
import { describe, expect, it } from 'vitest';
import { enlisted, gone, numbers, type RigOf } from './scenario-looks.ts';

export interface ManyOptions {
  readonly jobs: number;
  readonly timeoutMs: number;
}

export function manyScenarios(where: string, rigOf: RigOf, { jobs, timeoutMs }: ManyOptions): void {
  describe(`many (${where})`, () => {
    it(
      `${jobs} jobs at once are all completed, in a few transactions for all of their ends`,
      async () => {
        const rig = rigOf();
        const topic = await rig.parts.newTopic(1);
        await rig.produce(topic, 0, numbers(4));
        const commits = { rounds: 0, ends: 0 };
        const { store } = rig.parts;
        await rig.start({
          store: {
            ...store,
            incarnation: () => {
              commits.rounds += 1;
              return store.incarnation();
            },
          },
          onStep: async (step) => {
            if (step === 'end.committed') commits.ends += 1;
          },
        });
        const jobIds: string[] = [];
        for (let count = 0; count < jobs; count++) jobIds.push(await rig.request({ topic }));
        await rig.state(jobIds.at(-1) ?? '', 'RUNNING');
        // Rounds came between the requests.
        expect(commits.rounds).toBeGreaterThan(1);
        await Promise.all(jobIds.map((jobId) => rig.settleAll(jobId)));
        for (const jobId of jobIds)
          expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', reason: 'clean', totals: { ok: 4n } });
        expect(commits.ends).toBeLessThan(jobs / 10);
        for (const jobId of jobIds) await gone(rig, jobId);
        expect(await enlisted(rig)).toEqual([]);
      },
      timeoutMs,
    );

    it(
      'a job of 10,000 ranges is pinned, checkpointed and restored whole; one more is refused with what to do',
      async () => {
        const rig = rigOf();
        const topic = await rig.parts.newTopic(1);
        await rig.produce(topic, 0, numbers(RANGES_PER_JOB_MAX));
        await rig.start();
        const jobId = await rig.request({ topic, rangesPerPartition: RANGES_PER_JOB_MAX });
        const whole = await rig.ranges(jobId, (ranges) => ranges.length === RANGES_PER_JOB_MAX);
        const done = whole.filter((_, index) => index % 1_000 === 0);
        for (const range of done) await rig.settle(jobId, range, range.end);
        await waitFor('what is done to be durable', async () => {
          const checkpoints = await rig.jobLog.checkpoints(jobId);
          return checkpoints.filter(({ status }) => status === 'done').length === done.length;
        });
        await rig.parts.loseStore();
        const restored = await rig.ranges(jobId, (ranges) => ranges.length === RANGES_PER_JOB_MAX);
        const closed = restored.filter(({ status }) => status === 'done').map(({ start }) => start);
        expect(closed).toEqual(done.map(({ start }) => start));
        await rig.command(jobId, 'cancel');
        const totals = { ok: BigInt(done.length) };
        expect(await rig.ended(jobId)).toMatchObject({ state: 'CANCELLED', totals });
        await waitFor('its keys to be gone', async () => (await rig.parts.store.snapshot(jobId)) === undefined);

        const second = await rig.parts.newTopic(2);
        for (const partition of [0, 1]) await rig.produce(second, partition, numbers(5_001));
        const refused = await rig.ended(await rig.request({ topic: second, rangesPerPartition: 5_001 }));
        expect(refused).toMatchObject({
          state: 'REFUSED',
          reason:
            'TOO_MANY_RANGES: 5001 ranges a partition are 10002 in all, a job may have 10000; ask for fewer, or for 0 to let the spans decide',
        });
      },
      timeoutMs,
    );
  });
}
