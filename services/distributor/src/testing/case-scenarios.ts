/** Failures of others that must not happen here: see infra/cases.md. */
import { toOffset } from '@tidemark/keyspace';
import { waitFor } from '@tidemark/testkit';
import { describe, expect, it } from 'vitest';
import { floorsOf } from './floor-scenarios.ts';
import { parking } from './parked-scenarios.ts';
import { checkpointed, firstRange, numbers, type RigOf } from './scenario-looks.ts';

const LOST = { first: toOffset(20), last: toOffset(49) };

export function caseScenarios(where: string, rigOf: RigOf): void {
  describe(`known failures (${where})`, () => {
    it('B1: a job that skips loss completes, with the loss counted and named', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(100));
      await rig.start();
      const jobId = await rig.request({ topic, onLost: 'skip' });
      const range = await firstRange(rig, jobId);
      await rig.settle(jobId, range, toOffset(19));
      await rig.settle(jobId, range, toOffset(49), { passed: [LOST] });
      await rig.settle(jobId, range, toOffset(99));
      const totals = { ok: 70n, lost: 30n };
      const lost = [{ partition: 0, first: 20n, last: 49n }];
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', reason: 'loss', totals, lost });
    });

    it('B1: what a job lost comes back with a store that was emptied, also of parked records, and each is counted once', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(100));
      await rig.start();
      const jobId = await rig.request({ topic, onLost: 'skip' });
      const range = await firstRange(rig, jobId);
      const park = [5, 7, 19].map((offset) => parking(offset));
      await rig.settle(jobId, range, toOffset(19), { park });
      const held = await rig.hold(jobId, range);
      await held.settleParked(toOffset(19), 'lost');
      await held.settleParked(toOffset(7), 'lost');
      await held.claim(toOffset(49));
      await held.advance(toOffset(49), { passed: [LOST] });
      await held.release();
      await checkpointed(rig, jobId, 49n);
      await rig.parts.loseStore();
      const restored = await firstRange(rig, jobId);
      const passed = [
        { first: 7n, last: 7n },
        { first: 19n, last: 49n },
      ];
      expect(restored).toMatchObject({ cursor: 49n, passed, counters: { ok: 17n, lost: 32n, parked: 1n } });
      const again = await rig.hold(jobId, range);
      await again.settleParked(toOffset(5), 'lost');
      await again.release();
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({
        ...{ state: 'COMPLETED', reason: 'loss', totals: { ok: 67n, lost: 33n, parked: 0n } },
        lost: [{ first: 5n, last: 5n }, ...passed].map((interval) => ({ partition: 0, ...interval })),
      });
    });

    it('B1: a job of which one range passes what it lost and another stops there names both', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(100));
      await rig.start();
      const jobId = await rig.request({ topic, onLost: 'skip', rangesPerPartition: 2 });
      const [first, second] = await rig.ranges(jobId);
      if (first === undefined || second === undefined) throw new Error('no two ranges');
      await rig.settle(jobId, first, toOffset(19));
      await rig.settle(jobId, first, first.end, { passed: [{ first: toOffset(20), last: first.end }] });
      const lost = [{ first: toOffset(first.end + 1n), last: toOffset(59) }];
      await rig.leave(jobId, second, { note: 'offsets lost', lost, stop: true });
      expect(await rig.ended(jobId)).toMatchObject({
        ...{ state: 'UNRECOVERABLE', totals: { ok: 20n, lost: 40n } },
        lost: [{ partition: 0, first: 20n, last: 59n }],
      });
    });

    it('B4: partitions added under way are not part of the window; the job after it reads them from the beginning, and they are held for it', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(2);
      for (const partition of [0, 1]) await rig.produce(topic, partition, numbers(50));
      await rig.start();
      const first = await rig.request({ topic });
      await rig.ranges(first);
      await rig.parts.addPartitions(topic, [2, 3], numbers(10));
      await rig.settleAll(first);
      expect(await rig.ended(first)).toMatchObject({ state: 'COMPLETED', totals: { ok: 100n } });
      const second = await rig.request({ topic, from: `after:${first}` });
      const { pin } = await rig.state(second, 'RUNNING');
      expect(pin?.partitions.map(({ partition, start, end }) => [partition, start, end])).toEqual([
        [0, 49n, 49n],
        [1, 49n, 49n],
        [2, -1n, 9n],
        [3, -1n, 9n],
      ]);
      expect((await floorsOf(rig, topic)).map((floors) => floors.map(({ offset }) => offset))).toEqual([
        [],
        [],
        [0n],
        [0n],
      ]);
      await rig.settleAll(second);
      expect(await rig.ended(second)).toMatchObject({ state: 'COMPLETED', totals: { ok: 20n } });
      await waitFor('nothing to be held', async () => (await floorsOf(rig, topic)).flat().length === 0);
    });

    it('B6: a log that went back ends the job by that name, with what was settled, and no job follows it', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(100));
      await rig.start();
      const jobId = await rig.request({ topic });
      const range = await firstRange(rig, jobId);
      await rig.settle(jobId, range, toOffset(80));
      const note = 'LOG_TRUNCATED: the log ends at 60, the window reaches to 99';
      await rig.leave(jobId, range, { note, stop: true });
      expect(await rig.ended(jobId)).toMatchObject({
        state: 'UNRECOVERABLE',
        reason: `${note} in partition 0`,
        totals: { ok: 81n, lost: 0n },
        lost: [],
      });
      const after = await rig.ended(await rig.request({ topic, from: `after:${jobId}` }));
      expect(after.reason).toMatch(/^AFTER_UNFINISHED_JOB/);
    });

    it('E4: a store that comes back older is filled from the newest checkpoint, tokens grow, and the job completes', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(200));
      await rig.start();
      const jobId = await rig.request({ topic });
      const range = await firstRange(rig, jobId);
      await rig.settle(jobId, range, toOffset(60));
      await checkpointed(rig, jobId, 60n);
      const comeBack = await rig.parts.dumpStore();
      const old = await rig.hold(jobId, range);
      await old.claim(toOffset(120));
      await old.advance(toOffset(100));
      await checkpointed(rig, jobId, 100n);
      await comeBack();
      await waitFor('the newest checkpoint to be back', async () => {
        const [now] = await rig.ranges(jobId);
        return now?.cursor === 100n && now.owner === '';
      });
      expect((await old.advance(toOffset(120))).kind).toBe('fenced');
      expect((await rig.settle(jobId, range, toOffset(150))) > old.token).toBe(true);
      await rig.settleAll(jobId);
      const ended = await rig.ended(jobId);
      expect(ended).toMatchObject({ state: 'COMPLETED', reason: 'clean', totals: { ok: 200n } });
      // What the old owner had claimed beyond the checkpoint, and nothing before it.
      expect(ended.totals?.maybeRedelivered).toBe(20n);
    });
  });
}
