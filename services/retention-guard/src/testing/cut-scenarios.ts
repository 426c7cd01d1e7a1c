/** How far it cuts: up to the policy, and never beyond what is needed. */
import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import type { RigOf } from './guard-rig.ts';
import { A_WEEK } from './policies.ts';

export function cutScenarios(where: string, rigOf: RigOf): void {
  describe(`what a guard cuts (${where})`, () => {
    it('B7 (a): with nothing to guard there is no delete request at all, whatever the policy', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 100);
      await rig.distribute();
      expect(await rig.outcomes(topic)).toEqual(['unread']);
      expect(await rig.outcomes(topic, A_WEEK)).toEqual(['unread']);
      expect(rig.deletions).toBe(0);
      expect(await rig.logStarts(topic)).toEqual([0n]);
      // And when a job has been there, but nothing is old enough.
      await rig.finish(await rig.submit({ topic }));
      expect(await rig.outcomes(topic, A_WEEK)).toEqual(['idle']);
      expect(rig.deletions).toBe(0);
      expect(await rig.logStarts(topic)).toEqual([0n]);
      expect(await rig.outcomes(topic)).toEqual(['cut']);
      expect(rig.deletions).toBe(1);
    });

    it('B7 (b): cuts at exactly the floors, and leaves a partition with an impossible one alone, and says so', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(3);
      for (const partition of [0, 1, 2]) await rig.produce(topic, partition, 60);
      await rig.distribute();
      const jobId = await rig.submit({ topic });
      await rig.settle(jobId, { partition: 0, to: 19n });
      await rig.settle(jobId, { partition: 2, to: 49n });
      await rig.floorsAre(topic, [20n, 0n, 50n]);
      const { topicId } = await rig.describe(topic);
      const place = { topic, topicId, partition: 1 };
      await rig.parts.floors.raise({ place, holder: jobId, to: toOffset(501n) });
      const { partitions } = await rig.cycle(topic);
      expect(partitions.map(({ outcome }) => outcome)).toEqual(['cut', 'beyond_log', 'cut']);
      expect(partitions[1]?.reason).toBe(`${jobId} needs 501, the log ends at 60`);
      expect(partitions.map(({ cutOffsets }) => cutOffsets)).toEqual([20n, 0n, 50n]);
      expect(await rig.logStarts(topic)).toEqual([20n, 0n, 50n]);
      expect((await rig.parts.floors.look({ ...place, partition: 0 }))?.mark).toBe(20n);
    });

    it('B7 (c): a job that stands still counts, also beside one that is done', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 100);
      await rig.distribute();
      await rig.finish(await rig.submit({ topic }));
      const paused = await rig.submit({ topic });
      await rig.settle(paused, { partition: 0, to: 4n });
      await rig.floorsAre(topic, [5n]);
      const { partitions } = await rig.cycle(topic);
      expect(partitions[0]).toMatchObject({ outcome: 'cut', floor: 5n, holder: paused, heldOffsets: 95n });
      expect(await rig.logStarts(topic)).toEqual([5n]);
      expect(await rig.outcomes(topic)).toEqual(['held']);
      expect(await rig.logStarts(topic)).toEqual([5n]);
      await rig.finish(paused);
      await rig.floorsAre(topic, [undefined]);
      expect(await rig.outcomes(topic)).toEqual(['cut']);
      expect(await rig.logStarts(topic)).toEqual([100n]);
    });

    it('P7: a parked record holds the log from itself on, however far the cursor is, also of a paused job', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 100);
      await rig.distribute();
      const jobId = await rig.submit({ topic });
      await rig.settle(jobId, { partition: 0, to: 59n, parked: 30n });
      await rig.floorsAre(topic, [30n]);
      await rig.pause(jobId);
      const { partitions } = await rig.cycle(topic);
      expect(partitions[0]).toMatchObject({ outcome: 'cut', floor: 30n, holder: jobId });
      expect(await rig.logStarts(topic)).toEqual([30n]);
      expect(await rig.outcomes(topic)).toEqual(['held']);
    });

    it('P7: never cuts into an open transaction, and goes on when it has ended', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 10);
      await rig.distribute();
      await rig.finish(await rig.submit({ topic }));
      const commit = await rig.parts.openTransaction(topic, ['a', 'b']);
      await rig.outcomes(topic);
      expect(await rig.logStarts(topic)).toEqual([10n]);
      expect(await rig.outcomes(topic)).toEqual(['idle']);
      await commit();
      await rig.until('the cut behind the transaction', async () => {
        await rig.cycle(topic);
        return (await rig.logStarts(topic))[0] === 13n;
      });
    });

    it('keeps the newest bytes of a partition, by an estimate', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 1_000, 1_000);
      await rig.distribute();
      await rig.finish(await rig.submit({ topic }));
      expect(await rig.outcomes(topic, { ageMs: undefined, bytes: 2_000_000n })).toEqual(['idle']);
      expect(await rig.outcomes(topic, { ageMs: undefined, bytes: 250_000n })).toEqual(['cut']);
      const [start] = await rig.logStarts(topic);
      expect(start).toBeGreaterThanOrEqual(740n);
      expect(start).toBeLessThanOrEqual(760n);
    });

    it('P7: two guards at once are harmless, and one of them does the work', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(4);
      for (const partition of [0, 1, 2, 3]) await rig.produce(topic, partition, 50);
      await rig.distribute();
      const jobId = await rig.submit({ topic });
      for (const [partition, to] of [9n, 19n, 29n, 39n].entries()) await rig.settle(jobId, { partition, to });
      await rig.floorsAre(topic, [10n, 20n, 30n, 40n]);
      for (let round = 0; round < 5; round++) await Promise.all([rig.cycle(topic), rig.cycle(topic)]);
      expect(await rig.logStarts(topic)).toEqual([10n, 20n, 30n, 40n]);
      await rig.finish(jobId);
    });

    it('P7: the low watermark stays at or below the floor at every sample, and follows it within two cycles', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 200);
      await rig.distribute();
      const slow = await rig.submit({ topic });
      for (let to = 19n; to < 199n; to += 20n) {
        await rig.settle(slow, { partition: 0, to });
        await rig.floorsAre(topic, [to + 1n]);
        for (let cycles = 0; cycles < 2; cycles++) {
          await rig.cycle(topic);
          const [low] = await rig.logStarts(topic);
          const [floor] = await rig.floors(topic);
          expect(low).toBeLessThanOrEqual(floor ?? 0n);
        }
        expect(await rig.logStarts(topic)).toEqual([to + 1n]);
      }
      await rig.finish(slow);
    });
  });
}
