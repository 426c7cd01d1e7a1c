/** Records that the cursor has passed and that are not settled yet. */
import type { Parking } from '@tidemark/cursors';
import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { floorAt } from './floor-scenarios.ts';
import type { Rig } from './rig.ts';
import { checkpointed, firstRange, gone, numbers, type RigOf } from './scenario-looks.ts';

export const parking = (offset: number, delayMs = 60_000): Parking => ({
  offset: toOffset(offset),
  attempt: 3,
  delayMs,
  faultClass: 'timeout',
  keyHash: '',
});

async function jobWithParked(rig: Rig): Promise<{ readonly jobId: string; readonly topic: string }> {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, numbers(10));
  const jobId = await rig.request({ topic });
  await rig.settle(jobId, await firstRange(rig, jobId), toOffset(6), { park: [parking(2), parking(5)] });
  await checkpointed(rig, jobId, 6n);
  return { jobId, topic };
}

export function parkedScenarios(where: string, rigOf: RigOf): void {
  describe(`parked records (${where})`, () => {
    it('P7: hold the log from the lowest of them on, and are part of the totals until they are settled', async () => {
      const rig = rigOf();
      await rig.start();
      const { jobId, topic } = await jobWithParked(rig);
      await floorAt(rig, topic, 2n);
      const range = await firstRange(rig, jobId);
      const held = await rig.hold(jobId, range);
      await held.claim(toOffset(9));
      expect(await held.advance(toOffset(9))).toMatchObject({ kind: 'advanced', done: false });
      await held.settleParked(toOffset(2));
      await floorAt(rig, topic, 5n);
      expect((await rig.jobLog.states()).get(jobId)?.state).toBe('RUNNING');
      expect(await held.settleParked(toOffset(5))).toMatchObject({ kind: 'settled', done: true });
      const totals = { ok: 10n, parked: 0n };
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', reason: 'clean', totals });
      await gone(rig, jobId);
    });

    it('P8: come back from the checkpoint with the time at which they are due', async () => {
      const rig = rigOf();
      await rig.start();
      const { jobId, topic } = await jobWithParked(rig);
      const before = (await firstRange(rig, jobId)).parked;
      expect(before.map(({ offset }) => offset)).toEqual([2n, 5n]);
      await rig.parts.loseStore();
      const restored = await firstRange(rig, jobId);
      expect(restored).toMatchObject({ cursor: 6n, counters: { ok: 5n, parked: 2n } });
      expect(restored.parked).toEqual(before);
      await floorAt(rig, topic, 2n);
    });

    it('stay unsettled when the job is cancelled, and the totals say so', async () => {
      const rig = rigOf();
      await rig.start();
      const { jobId } = await jobWithParked(rig);
      await rig.command(jobId, 'cancel');
      expect(await rig.ended(jobId)).toMatchObject({ state: 'CANCELLED', totals: { ok: 5n, parked: 2n } });
    });

    it('of a paused job hold the log, also in a store that was lost; it is not running there, and resume goes on', async () => {
      const rig = rigOf();
      await rig.start();
      const { jobId, topic } = await jobWithParked(rig);
      await rig.command(jobId, 'pause');
      await rig.state(jobId, 'PAUSED');
      await rig.parts.loseStore();
      await rig.inMode(jobId, 'halted');
      await floorAt(rig, topic, 2n);
      expect(await firstRange(rig, jobId)).toMatchObject({ cursor: 6n, parked: [{ offset: 2n }, { offset: 5n }] });
      await rig.command(jobId, 'resume');
      await rig.letRun(jobId);
      const held = await rig.hold(jobId, await firstRange(rig, jobId));
      await held.claim(toOffset(9));
      await held.advance(toOffset(9));
      await held.settleParked(toOffset(2));
      await held.settleParked(toOffset(5));
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', totals: { ok: 10n } });
    });
  });
}
