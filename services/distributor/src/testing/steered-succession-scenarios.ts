/** Crashes and successors in the middle of an order, a suspension or a resume. */
import type { JobMode } from '@tidemark/cursors';
import { toOffset } from '@tidemark/keyspace';
import { waitFor } from '@tidemark/testkit';
import { describe, expect, it } from 'vitest';
import type { Step } from '../steps.ts';
import { enlisted, firstRange, numbers, type RigOf } from './scenario-looks.ts';

export function steeredSuccessionScenarios(where: string, rigOf: RigOf): void {
  describe(`crashes and successors of orders (${where})`, () => {
    const steered: readonly (readonly [Step, string, string, JobMode | 'gone'])[] = [
      ['drain.begun', 'pause', 'PAUSED', 'halted'],
      ['drain.set', 'pause', 'PAUSED', 'halted'],
      ['drain.halted', 'pause', 'PAUSED', 'halted'],
      ['pause.committed', 'pause', 'PAUSED', 'halted'],
      ['kill.halted', 'kill', 'PAUSED', 'halted'],
      ['pause.committed', 'kill', 'PAUSED', 'halted'],
      ['drain.begun', 'cancel', 'CANCELLED', 'gone'],
      ['drain.set', 'cancel', 'CANCELLED', 'gone'],
      ['drain.halted', 'cancel', 'CANCELLED', 'gone'],
      ['end.committed', 'cancel', 'CANCELLED', 'gone'],
      ['end.withdrawn', 'cancel', 'CANCELLED', 'gone'],
    ];
    it.each(steered)(
      'killed at %s of a %s: the successor brings it to %s with what was settled; the dead one, if it wakes, changes nothing',
      async (step, command, state, mode) => {
        const rig = rigOf();
        const topic = await rig.parts.newTopic(1);
        await rig.produce(topic, 0, numbers(10));
        const first = await rig.startFrozenAt(step, { proofTrustMs: 0 });
        const jobId = await rig.request({ topic });
        await rig.definition(jobId);
        const held = await rig.hold(jobId, await firstRange(rig, jobId));
        await held.claim(toOffset(3));
        await held.advance(toOffset(3));
        // Only a range that is held makes it wait.
        if (step !== 'drain.set') await held.release();
        await rig.command(jobId, command);
        await first.frozen;

        await rig.start();
        if (step === 'drain.set') await held.release();
        await rig.state(jobId, state);
        const look = async (): Promise<string> => (await rig.parts.store.snapshot(jobId))?.mode ?? 'gone';
        await waitFor(`the store to say ${mode}`, async () => (await look()) === mode);
        expect((await rig.jobLog.checkpoints(jobId)).map(({ cursor }) => cursor)).toEqual([3n]);
        await waitFor('it to be off the list', async () => (await enlisted(rig)).length === 0);

        first.release();
        // Whoever has nothing to write does not hear of its successor for half a minute.
        await rig.request({ topic });
        await first.distributor.ended;
        expect(first.distributor.phase).toBe('standby');
        expect(await look()).toBe(mode);
        expect((await rig.jobLog.states()).get(jobId)?.state).toBe(state);
        const kinds = await rig.kinds(jobId);
        expect(new Set(kinds).size).toBe(kinds.length);
      },
    );

    it('killed in the middle of a kill of all jobs: the successor kills the rest, and none twice', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      const first = await rig.startFrozenAt('kill.halted', { proofTrustMs: 0 });
      const jobIds = [await rig.request({ topic }), await rig.request({ topic })];
      for (const jobId of jobIds) await rig.definition(jobId);
      await rig.command('*', 'kill');
      await first.frozen;
      await rig.start();
      for (const jobId of jobIds) await rig.state(jobId, 'PAUSED');
      first.release();
      await first.distributor.ended;
      for (const jobId of jobIds)
        expect((await rig.kinds(jobId)).filter((kind) => kind === 'JobPaused')).toHaveLength(1);
    });

    it('killed between a durable resume and the store: the successor lets the job run', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      const first = await rig.startFrozenAt('resume.committed', { proofTrustMs: 0 });
      const jobId = await rig.request({ topic });
      await rig.definition(jobId);
      await rig.command(jobId, 'pause');
      await rig.state(jobId, 'PAUSED');
      await rig.command(jobId, 'resume');
      await first.frozen;
      await rig.start();
      await rig.state(jobId, 'RUNNING');
      await rig.letRun(jobId);
      await rig.definition(jobId);
      await rig.command(jobId, 'kill');
      await rig.state(jobId, 'PAUSED');
      first.release();
      await first.distributor.ended;
      // It did not let run what its successor had halted.
      expect((await rig.parts.store.snapshot(jobId))?.mode).toBe('halted');
    });

    it('killed after it halted a job to suspend it: the successor suspends it', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      const first = await rig.startFrozenAt('suspend.halted', { proofTrustMs: 0 });
      const jobId = await rig.request({ topic, onExhausted: 'suspend' });
      const note = 'suspend: record 0 failed: boom';
      await rig.leave(jobId, await firstRange(rig, jobId), { note, stop: false });
      await first.frozen;
      await rig.start();
      expect(await rig.state(jobId, 'SUSPENDED')).toMatchObject({ reason: 'record 0 failed: boom in partition 0' });
      first.release();
      await first.distributor.ended;
      expect((await rig.kinds(jobId)).filter((kind) => kind === 'JobSuspended')).toHaveLength(1);
    });
  });
}
