/** Who holds beside jobs, and jobs that hold for too long. */
import { describe, expect, it } from 'vitest';
import { runCycle } from '../cycle.ts';
import type { RigOf } from './guard-rig.ts';
import { A_DAY_MS, EVERYTHING } from './policies.ts';

export function holderScenarios(where: string, rigOf: RigOf): void {
  describe(`who holds a log (${where})`, () => {
    it('a named group holds what it has not committed, and one that never committed holds everything', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(2);
      for (const partition of [0, 1]) await rig.produce(topic, partition, 50);
      await rig.distribute();
      await rig.finish(await rig.submit({ topic }));
      const group = `billing-${topic}`;
      const groups = new Map([[topic, [group]]]);
      const cycle = () => runCycle(rig.guardParts([{ topic, ...EVERYTHING }], { groups }));
      await rig.parts.commitOffset(group, topic, 0, 20n);
      const holder = `group ${group}`;
      const first = await cycle();
      expect(first.partitions).toMatchObject([
        { outcome: 'cut', cutOffsets: 20n, floor: 20n, holder, heldOffsets: 30n },
        {
          outcome: 'held',
          holder,
          heldOffsets: 50n,
          reason: expect.stringContaining(`committed nothing in ${topic}/1`),
        },
      ]);
      expect(await rig.logStarts(topic)).toEqual([20n, 0n]);
      await rig.parts.commitOffset(group, topic, 0, 50n);
      await rig.parts.commitOffset(group, topic, 1, 501n);
      const second = await cycle();
      expect(second.partitions).toMatchObject([
        { outcome: 'cut', cutOffsets: 30n },
        { outcome: 'beyond_log', reason: expect.stringContaining(`${holder} is at 501, the log ends at 50`) },
      ]);
      expect(await rig.logStarts(topic)).toEqual([50n, 0n]);
    });

    it('a job that holds too long is named, and then its floor is released for good, also after the store was lost', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 100);
      const distributor = await rig.distribute();
      const jobId = await rig.submit({ topic });
      await rig.settle(jobId, { partition: 0, to: 19n });
      await rig.floorsAre(topic, [20n]);
      const holds = new Map([[topic, { alarmMs: A_DAY_MS, releaseMs: 3 * A_DAY_MS }]]);
      const cycleIn = async (days: number) => {
        const nowMs = () => Date.now() + days * A_DAY_MS;
        return (await runCycle(rig.guardParts([{ topic, ...EVERYTHING }], { holds, nowMs }))).partitions;
      };
      // A little later, so that no record is as young as the clock.
      const [before] = await cycleIn(0.1);
      expect(before).toMatchObject({ outcome: 'cut', cutOffsets: 20n });
      expect([before?.overdue, before?.releases]).toEqual([undefined, undefined]);
      const overdue = [{ holder: jobId, floor: 20n }];
      const [late] = await cycleIn(2);
      expect(late).toMatchObject({ outcome: 'held', overdue });
      expect(late?.releases).toBeUndefined();
      const release = { holder: jobId, fromOffset: 20n };
      expect(await cycleIn(4)).toMatchObject([
        { outcome: 'cut', cutOffsets: 80n, releases: [{ ...release, isNew: true }] },
      ]);
      expect(await rig.logStarts(topic)).toEqual([100n]);
      // What is durable counts, whatever the clock and the store say.
      await distributor.stop('a test');
      await rig.parts.loseStore();
      await rig.distribute();
      await rig.floorsAre(topic, [20n]);
      await rig.produce(topic, 0, 10);
      expect(await cycleIn(0.1)).toMatchObject([
        { outcome: 'cut', cutOffsets: 10n, releases: [{ ...release, isNew: false }] },
      ]);
      expect(await rig.logStarts(topic)).toEqual([110n]);
    });

    it('P7, P10: a window that is held for an audit is not cut while its job runs, nor when it has ended, until it is released', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 100);
      const seldom = { floorsLookEveryMs: A_DAY_MS };
      const distributor = await rig.distribute(seldom);
      const jobId = await rig.submit({ topic, from: '0:10', holdForAuditMs: BigInt(A_DAY_MS) });
      const holder = `audit:${jobId}`;
      await rig.settle(jobId, { partition: 0, to: 59n });
      expect((await rig.cycle(topic)).partitions).toMatchObject([{ outcome: 'cut', floor: 10n, holder }]);
      await rig.finish(jobId);
      expect((await rig.cycle(topic)).partitions).toMatchObject([{ outcome: 'held', floor: 10n, holder }]);
      expect(await rig.logStarts(topic)).toEqual([10n]);
      // The store is asked to forget it: Kafka knows that it must be there.
      const { topicId } = await rig.describe(topic);
      await rig.parts.floors.drop({ place: { topic, topicId, partition: 0 }, holder });
      expect((await rig.cycle(topic)).partitions).toMatchObject([
        { outcome: 'incomplete', reason: `the floor of the audit of job ${jobId} is missing` },
      ]);
      await distributor.stop('a test');
      await rig.distribute(seldom);
      await rig.floorsAre(topic, [10n]);
      expect(await rig.outcomes(topic)).toEqual(['held']);
      await rig.release(jobId);
      await rig.floorsAre(topic, [undefined]);
      expect(await rig.outcomes(topic)).toEqual(['cut']);
      expect(await rig.logStarts(topic)).toEqual([100n]);
    });

    it('P7: a job whose floor is released, and that of its audit, is told of it before it reads', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 100);
      await rig.distribute({ floorsLookEveryMs: 0 });
      const jobId = await rig.submit({ topic, holdForAuditMs: BigInt(A_DAY_MS) });
      await rig.settle(jobId, { partition: 0, to: 19n });
      await rig.until('its checkpoint', async () => {
        const { topicId } = await rig.describe(topic);
        const look = await rig.parts.floors.look({ topic, topicId, partition: 0 });
        return look?.floors.some(({ holder, offset }) => holder === jobId && offset === 20n) ?? false;
      });
      const holds = new Map([[topic, { alarmMs: A_DAY_MS, releaseMs: 3 * A_DAY_MS }]]);
      const nowMs = () => Date.now() + 4 * A_DAY_MS;
      const [seen] = (await runCycle(rig.guardParts([{ topic, ...EVERYTHING }], { holds, nowMs }))).partitions;
      expect(seen).toMatchObject({ outcome: 'cut', cutOffsets: 100n });
      const told = await rig.state(jobId, ({ releasedFloors }) => releasedFloors.length === 2);
      expect([...told.releasedFloors].sort((a, b) => Number(a.ofAudit) - Number(b.ofAudit))).toMatchObject([
        { partition: 0, ofAudit: false, fromOffset: 20n },
        { partition: 0, ofAudit: true, fromOffset: 0n },
      ]);
      expect(told.state).toBe('RUNNING');
    });

    it('a job that is not released holds the log beside one that is', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 100);
      await rig.distribute();
      const first = await rig.submit({ topic });
      const pinnedAt = async (jobId: string) => Number((await rig.state(jobId, () => true)).pin?.pinnedAtMs);
      const older = await pinnedAt(first);
      await rig.until('a later millisecond', async () => Date.now() > older);
      const second = await rig.submit({ topic, from: '0:60' });
      const younger = await pinnedAt(second);
      // So that the time of the first one is over, and that of the second one just is not.
      const holds = new Map([[topic, { alarmMs: 0, releaseMs: Math.max(0, younger - older - 1) }]]);
      const nowMs = () => younger;
      const [seen] = (await runCycle(rig.guardParts([{ topic, ...EVERYTHING }], { holds, nowMs }))).partitions;
      expect(seen).toMatchObject({ outcome: 'cut', cutOffsets: 60n, holder: second });
      expect(seen?.releases).toMatchObject([{ holder: first, fromOffset: 0n }]);
      expect(await rig.logStarts(topic)).toEqual([60n]);
    });
  });
}
