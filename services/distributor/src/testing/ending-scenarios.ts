/** Commands, suspensions and ends. */
import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import type { Rig } from './rig.ts';
import { gone, numbers, type RigOf, raise } from './scenario-looks.ts';

const OPEN_TRANSACTION_DEADLINE_MS = 600_000;

/** A job that is resumed gets the whole deadline again: it passes when the test says so, and only then. */
async function startWithClock(rig: Rig): Promise<{ skippedMs: number }> {
  const clock = { skippedMs: 0 };
  const nowMs = () => Date.now() + clock.skippedMs;
  await rig.start({ openTransactionDeadlineMs: OPEN_TRANSACTION_DEADLINE_MS, nowMs });
  return clock;
}

export function endingScenarios(where: string, rigOf: RigOf): void {
  describe(`steering and ending (${where})`, () => {
    it('cancel ends a job with what was settled until then, and its keys go', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      await rig.start();
      const jobId = await rig.request({ topic });
      await rig.state(jobId, 'RUNNING');
      const [range] = await rig.ranges(jobId);
      if (range === undefined) return raise('no range');
      await rig.settle(jobId, range, toOffset(3));
      await rig.command(jobId, 'cancel');
      expect(await rig.ended(jobId)).toMatchObject({ state: 'CANCELLED', reason: 'a test', totals: { ok: 4n } });
      await rig.command(jobId, 'cancel');
      await rig.command(jobId, 'resume');
      await rig.state(await rig.request({ topic }), 'RUNNING');
      expect(await rig.kinds(jobId)).toEqual([
        'JobRequested',
        'JobPinned',
        'JobStarted',
        'JobCancelling',
        'JobCancelled',
        'JobCommandRefused',
        'JobCommandRefused',
      ]);
      await gone(rig, jobId);
    });

    it('P2: a range held by an open transaction past the deadline suspends the job, and resume runs it on', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      const clock = await startWithClock(rig);
      const jobId = await rig.request({ topic });
      await rig.state(jobId, 'RUNNING');
      const [range] = await rig.ranges(jobId);
      if (range === undefined) return raise('no range');
      await rig.leave(jobId, range, { note: 'waiting: open transaction at 4', stop: false });
      clock.skippedMs = 2 * OPEN_TRANSACTION_DEADLINE_MS;
      const suspended = await rig.state(jobId, 'SUSPENDED');
      expect(suspended.reason).toBe('open transaction at 4 in partition 0');
      expect((await rig.parts.store.snapshot(jobId))?.mode).toBe('halted');
      await rig.command(jobId, 'resume');
      await rig.state(jobId, 'RUNNING');
      await rig.letRun(jobId);
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', reason: 'clean' });
      expect(await rig.kinds(jobId)).toContain('JobResumed');
    });

    it('a suspended job survives the loss of the store and runs on when it is resumed', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      const clock = await startWithClock(rig);
      const jobId = await rig.request({ topic });
      await rig.state(jobId, 'RUNNING');
      const [range] = await rig.ranges(jobId);
      if (range === undefined) return raise('no range');
      const token = await rig.settle(jobId, range, toOffset(3));
      await rig.leave(jobId, range, { note: 'waiting: open transaction at 4', stop: false });
      clock.skippedMs = 2 * OPEN_TRANSACTION_DEADLINE_MS;
      await rig.state(jobId, 'SUSPENDED');
      await rig.parts.loseStore();
      await rig.command(jobId, 'resume');
      await rig.state(jobId, 'RUNNING');
      // It may have been filled in halted before.
      await rig.letRun(jobId);
      const [restored] = await rig.ranges(jobId);
      if (restored === undefined) return raise('no range');
      expect(restored.cursor).toBe(3n);
      expect((await rig.settle(jobId, restored, toOffset(5))) > token).toBe(true);
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', totals: { ok: 10n } });
    });

    it('P7: a range that lost records stops, the others finish, and the job is unrecoverable with the exact offsets', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(2);
      await rig.produce(topic, 0, numbers(100));
      await rig.produce(topic, 1, numbers(10));
      await rig.start();
      const jobId = await rig.request({ topic });
      await rig.state(jobId, 'RUNNING');
      const [first, second] = await rig.ranges(jobId);
      if (first === undefined || second === undefined) return raise('two ranges expected');
      await rig.settle(jobId, first, toOffset(19));
      const lost = [{ first: toOffset(20), last: toOffset(49) }];
      await rig.leave(jobId, first, { note: 'offsets lost', lost, stop: true });
      await rig.settle(jobId, second, second.end);
      const state = await rig.ended(jobId);
      expect(state).toMatchObject({
        state: 'UNRECOVERABLE',
        reason: 'offsets lost in partition 0',
        lost: [{ partition: 0, first: 20n, last: 49n }],
        totals: { ok: 30n, lost: 30n },
      });
    });
  });
}
