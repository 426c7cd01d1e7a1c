/** Crashes, suspended processes, successors, and a store that lost everything. */
import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import type { Step } from '../steps.ts';
import { checkpointed, enlisted, gone, numbers, type RigOf, raise } from './scenario-looks.ts';

export function successionScenarios(where: string, rigOf: RigOf): void {
  describe(`crashes and successors (${where})`, () => {
    const steps: readonly Step[] = [
      'pin.described',
      'pin.ends-read',
      'pin.starts-read',
      'pin.rechecked',
      'job.before-commit',
      'job.committed',
      'job.installed',
      'job.enlisted',
    ];
    it.each(steps)(
      'killed at %s: the successor pins once and the job runs; the dead one, if it wakes, changes nothing',
      async (step) => {
        const rig = rigOf();
        const topic = await rig.parts.newTopic(2);
        await rig.produce(topic, 0, numbers(5));
        await rig.produce(topic, 1, numbers(5));
        const first = await rig.startFrozenAt(step);
        const jobId = await rig.request({ topic });
        await first.frozen;

        const second = await rig.start();
        await rig.state(jobId, 'RUNNING');
        const ranges = await rig.ranges(jobId);
        expect(ranges).toHaveLength(2);
        expect((await rig.definition(jobId)).jobId).toBe(jobId);
        const [settled] = ranges;
        if (settled !== undefined) await rig.settle(jobId, settled, settled.end);

        first.release();
        await first.distributor.ended;
        expect(first.distributor.phase).toBe('standby');
        const cursors = (await rig.ranges(jobId)).map(({ partition, cursor }) => [partition, cursor]);
        expect(cursors).toEqual([
          [0, 4n],
          [1, -1n],
        ]);

        await rig.settleAll(jobId);
        expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', reason: 'clean', totals: { ok: 10n } });
        expect((await rig.kinds(jobId)).filter((kind) => kind === 'JobPinned')).toEqual(['JobPinned']);
        expect(second.phase).toBe('running');
      },
    );

    it('killed between the durable end and the keys: the successor removes them', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(5));
      const first = await rig.startFrozenAt('end.committed');
      const jobId = await rig.request({ topic });
      await rig.state(jobId, 'RUNNING');
      await rig.settleAll(jobId);
      await first.frozen;
      expect(await rig.parts.store.snapshot(jobId)).toBeDefined();
      await rig.start();
      expect(await rig.parts.store.snapshot(jobId)).toBeUndefined();
      expect(await enlisted(rig)).toEqual([]);
      first.release();
    });

    it('suspended between the commit and the store until its successor has ended the job: it does not start it again', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(5));
      const first = await rig.startFrozenAt('job.committed', { proofTrustMs: 0 });
      const jobId = await rig.request({ topic });
      await first.frozen;
      await rig.start();
      await rig.definition(jobId);
      await rig.settleAll(jobId);
      await rig.ended(jobId);
      await gone(rig, jobId);
      first.release();
      await first.distributor.ended;
      expect(first.distributor.phase).toBe('standby');
      expect(await rig.parts.store.snapshot(jobId)).toBeUndefined();
      expect(await enlisted(rig)).toEqual([]);
    });

    it('killed after it proved itself for the sake of a pin: the position was still before the request', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(5));
      // The floors of a topic that nobody asked for yet are filled, and that takes a proof: one commit.
      const first = await rig.startFrozenAt('pin.reserved', { proofTrustMs: 0 });
      const jobId = await rig.request({ topic });
      await first.frozen;
      await rig.start();
      await rig.state(jobId, 'RUNNING');
      first.release();
      await first.distributor.ended;
      expect((await rig.kinds(jobId)).filter((kind) => kind === 'JobPinned')).toHaveLength(1);
    });

    it('the list of jobs is a hint: an entry that somebody removed comes back', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(5));
      await rig.start();
      const jobId = await rig.request({ topic });
      await rig.definition(jobId);
      await rig.parts.schedule.withdraw(jobId);
      expect((await rig.definition(jobId)).topic).toBe(topic);
      await rig.settleAll(jobId);
      await gone(rig, jobId);
    });

    it('suspended in the middle of a suspension until its successor resumed the job: it does not take it off the list', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(5));
      const withdrawn: string[] = [];
      const { schedule } = rig.parts;
      const first = await rig.startFrozenAt('suspend.committed', {
        openTransactionDeadlineMs: 100,
        proofTrustMs: 0,
        schedule: { ...schedule, withdraw: async (jobId) => void withdrawn.push(jobId) },
      });
      const jobId = await rig.request({ topic });
      await rig.definition(jobId);
      const [range] = await rig.ranges(jobId);
      if (range === undefined) return raise('no range');
      await rig.leave(jobId, range, { note: 'waiting: open transaction at 4', stop: false });
      await first.frozen;
      await rig.start();
      await rig.command(jobId, 'resume');
      await rig.state(jobId, 'RUNNING');
      await rig.definition(jobId);
      first.release();
      await first.distributor.ended;
      expect(first.distributor.phase).toBe('standby');
      expect(withdrawn).toEqual([]);
    });

    const restoring: readonly Step[] = ['restore.begun', 'restore.epoch-written', 'restore.proven'];
    it.each(restoring)('a restorer frozen at %s cannot put its copy over that of its successor', async (step) => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      const first = await rig.startFrozenAt(step);
      const jobId = await rig.request({ topic });
      await rig.state(jobId, 'RUNNING');
      await rig.ranges(jobId);
      await rig.parts.loseStore();
      await first.frozen;
      await rig.start();
      const [range] = await rig.ranges(jobId);
      if (range === undefined) return raise('no range');
      await rig.settle(jobId, range, toOffset(7));
      first.release();
      await first.distributor.ended;
      expect(first.distributor.phase).toBe('standby');
      expect((await rig.ranges(jobId))[0]?.cursor).toBe(7n);
    });

    it('two distributors: the older one is fenced, ends as standby, and the younger goes on', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(5));
      // Both fill the floors of the topic, and an older one that trusts its proof for a while could spoil it for the younger.
      const older = await rig.start({ proofTrustMs: 0 });
      const younger = await rig.start();
      const jobId = await rig.request({ topic });
      await rig.state(jobId, 'RUNNING');
      await older.ended;
      expect(older.phase).toBe('standby');
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED' });
      expect(younger.phase).toBe('running');
      expect((await rig.kinds(jobId)).filter((kind) => kind === 'JobPinned')).toHaveLength(1);
    });

    it('P8: an emptied store is filled again from the last checkpoint, and tokens still grow', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(100));
      await rig.start();
      const jobId = await rig.request({ topic, rangesPerPartition: 2 });
      await rig.state(jobId, 'RUNNING');
      const [range] = await rig.ranges(jobId);
      if (range === undefined) return raise('no range');
      const token = await rig.settle(jobId, range, toOffset(20));
      await rig.settle(jobId, range, toOffset(30));
      await checkpointed(rig, jobId, 30n);

      await rig.parts.loseStore();
      const restored = await rig.ranges(jobId);
      expect(restored.map(({ start, cursor, end }) => [start, cursor, end])).toEqual([
        [-1n, 30n, 49n],
        [49n, 49n, 99n],
      ]);
      expect(restored[0]?.counters.ok).toBe(31n);
      const [again] = restored;
      if (again === undefined) return raise('no range');
      expect((await rig.settle(jobId, again, toOffset(40))) > token).toBe(true);
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', reason: 'clean', totals: { ok: 100n } });
    });

    it('P8: a distributor that starts before an emptied store fills it', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      const first = await rig.start();
      const jobId = await rig.request({ topic });
      await rig.state(jobId, 'RUNNING');
      await first.stop('test');
      await rig.parts.loseStore();
      await rig.start();
      expect((await rig.ranges(jobId)).map(({ cursor }) => cursor)).toEqual([-1n]);
      expect((await rig.definition(jobId)).topic).toBe(topic);
    });
  });
}
