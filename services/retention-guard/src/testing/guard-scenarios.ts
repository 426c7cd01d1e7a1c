/** What a guard must do, run on the in-memory parts and on the real services alike. */
import { toOffset } from '@tidemark/keyspace';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCycle } from '../cycle.ts';
import { GuardRig, type GuardRigParts } from './guard-rig.ts';

const EVERYTHING = { ageMs: 0, bytes: undefined };
const A_DAY_MS = 86_400_000;
const A_WEEK = { ageMs: 7 * 86_400_000 };

export function guardScenarios(where: string, makeParts: () => Promise<GuardRigParts>): void {
  describe(`the guard (${where})`, () => {
    let rig: GuardRig;
    beforeEach(async () => {
      rig = new GuardRig(await makeParts());
    });
    afterEach(() => rig.close());

    it('B7 (a): with nothing to guard there is no delete request at all, whatever the policy', async () => {
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

    it('refuses a compacted topic and a missing one, names settings that let the broker cut, and serves the others', async () => {
      const compacted = await rig.parts.newTopic(1, { 'cleanup.policy': 'compact', 'retention.ms': '-1' });
      const drifting = await rig.parts.newTopic(1, { 'retention.ms': '86400000', 'retention.bytes': '-1' });
      await rig.produce(drifting, 0, 10);
      await rig.distribute();
      await rig.finish(await rig.submit({ topic: drifting }));
      const topics = [compacted, 'no-such-topic', drifting];
      const report = await runCycle(rig.guardParts(topics.map((topic) => ({ topic, ...EVERYTHING }))));
      const byTopic = new Map(report.partitions.map((each) => [each.topic, each]));
      expect(byTopic.get(compacted)).toMatchObject({ outcome: 'refused', reason: expect.stringContaining('compact') });
      expect(byTopic.get('no-such-topic')).toMatchObject({ outcome: 'refused' });
      expect(byTopic.get(drifting)).toMatchObject({ outcome: 'cut', cutOffsets: 10n });
      expect([...report.drift]).toEqual([[drifting, ['retention.ms is 86400000, not -1']]]);
      expect(await rig.parts.cluster.catalog.describe('no-such-topic')).toBeUndefined();
    });

    it('a named group holds what it has not committed, and one that never committed holds everything', async () => {
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

    it('settings that let the broker cut are set to ours when it may, once, and no others', async () => {
      const topic = await rig.parts.newTopic(1, { 'retention.ms': '86400000', 'segment.ms': '777000' });
      await rig.distribute();
      const cycle = () => runCycle(rig.guardParts([{ topic, ...A_WEEK, bytes: undefined }], { repairs: true }));
      const repaired = ['retention.ms is 86400000, not -1'];
      expect(await cycle()).toMatchObject({ drift: new Map(), repaired: new Map([[topic, repaired]]) });
      await rig.until('the broker to show it', async () => {
        const settings = await rig.parts.cluster.catalog.settings(topic, ['retention.ms', 'segment.ms']);
        return settings.get('retention.ms') === '-1' && settings.get('segment.ms') === '777000';
      });
      expect(await cycle()).toMatchObject({ drift: new Map(), repaired: new Map() });
    });

    it('B1: records that somebody else removes are named once, exactly, with who needed them, by whichever guard', async () => {
      const topic = await rig.parts.newTopic(2);
      for (const partition of [0, 1]) await rig.produce(topic, partition, 100);
      await rig.removeBehindOurBack(topic, 1, 5n);
      await rig.distribute();
      const jobId = await rig.submit({ topic, from: '0:10,1:5', to: '0:79,1:99' });
      await rig.settle(jobId, { partition: 0, to: 19n });
      await rig.settle(jobId, { partition: 1, to: 99n });
      await rig.floorsAre(topic, [20n, 100n]);
      const removals = async () => (await rig.cycle(topic, A_WEEK)).partitions.map((each) => each.removals);
      // What had gone before the first look is nobody's concern.
      expect(await removals()).toEqual([[], []]);
      await rig.removeBehindOurBack(topic, 0, 50n);
      await rig.removeBehindOurBack(topic, 1, 8n);
      const needed = [{ holder: jobId, from: 20n, to: 50n }];
      expect(await removals()).toMatchObject([
        [{ from: 0n, to: 50n, needed, isNew: true }],
        [{ from: 5n, to: 8n, needed: [], isNew: true }],
      ]);
      expect(await removals()).toMatchObject([[{ from: 0n, to: 50n, needed, isNew: false }], []]);
    });

    it('a job that holds too long is named, and then its floor is released for good, also after the store was lost', async () => {
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

    it('a job that is not released holds the log beside one that is', async () => {
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

    it('B3: a guarded topic that was deleted stays away, however often it is looked after', async () => {
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 10);
      await rig.distribute();
      await rig.finish(await rig.submit({ topic, to: '0:4' }));
      const groups = new Map([[topic, ['billing']]]);
      const cycle = () => runCycle(rig.guardParts([{ topic, ...EVERYTHING }], { groups, repairs: true }));
      await cycle();
      await rig.parts.deleteTopic(topic);
      const gone = async () => (await rig.parts.cluster.catalog.describe(topic)) === undefined;
      await rig.until('the topic to be gone', gone);
      for (let round = 0; round < 3; round++)
        expect((await cycle()).partitions).toMatchObject([{ outcome: 'refused', reason: 'the topic does not exist' }]);
      expect(await gone()).toBe(true);
    });

    it('B4: partitions that were added under a job are left alone until a job has covered them and is done', async () => {
      const topic = await rig.parts.newTopic(2);
      for (const partition of [0, 1]) await rig.produce(topic, partition, 50);
      await rig.distribute();
      const first = await rig.submit({ topic });
      await rig.parts.addPartitions(topic, 4);
      await rig.until('the partitions', async () => (await rig.describe(topic)).partitionCount === 4);
      for (const partition of [2, 3]) await rig.produce(topic, partition, 10);
      await rig.finish(first);
      await rig.floorsAre(topic, [undefined, undefined]);
      expect(await rig.outcomes(topic)).toEqual(['cut', 'cut', 'unread', 'unread']);
      const next = await rig.submit({ topic, from: `after:${first}` });
      expect((await rig.state(next, () => true)).pin?.partitions).toMatchObject([
        { start: 49n },
        { start: 49n },
        { start: -1n, end: 9n },
        { start: -1n, end: 9n },
      ]);
      expect(await rig.outcomes(topic)).toEqual(['idle', 'idle', 'held', 'held']);
      expect(await rig.logStarts(topic)).toEqual([50n, 50n, 0n, 0n]);
      await rig.finish(next);
      await rig.floorsAre(topic, [undefined, undefined, undefined, undefined]);
      await rig.cycle(topic);
      expect(await rig.logStarts(topic)).toEqual([50n, 50n, 10n, 10n]);
    });

    it('P8: cuts nothing while the store is empty, and goes on when it is rebuilt', async () => {
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 100);
      const distributor = await rig.distribute();
      const jobId = await rig.submit({ topic });
      await rig.settle(jobId, { partition: 0, to: 29n });
      await rig.floorsAre(topic, [30n]);
      await distributor.stop('a test');
      await rig.parts.loseStore();
      for (let round = 0; round < 3; round++) {
        const { partitions } = await rig.cycle(topic);
        expect(partitions).toMatchObject([{ outcome: 'incomplete' }]);
      }
      expect(await rig.logStarts(topic)).toEqual([0n]);
      await rig.distribute();
      await rig.floorsAre(topic, [30n]);
      expect(await rig.outcomes(topic)).toEqual(['cut']);
      expect(await rig.logStarts(topic)).toEqual([30n]);
      await rig.settle(jobId);
      await rig.state(jobId, ({ state }) => state === 'COMPLETED');
    });

    it('P7: two guards at once are harmless, and one of them does the work', async () => {
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

    it('a reservation at the log start holds it until it has run out, and not longer', async () => {
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 50);
      await rig.distribute();
      await rig.finish(await rig.submit({ topic }));
      const { topicId } = await rig.describe(topic);
      // Its pin was refused, or its distributor died before anything was durable: nobody will ever drop it.
      const orphan = { place: { topic, topicId, partition: 0 }, holder: 'orphan', offset: toOffset(0n) };
      await rig.parts.floors.reserve({ ...orphan, ttlMs: 60_000 });
      expect((await rig.cycle(topic)).partitions).toMatchObject([{ outcome: 'held', floor: 0n, holder: 'orphan' }]);
      expect(await rig.logStarts(topic)).toEqual([0n]);
      await rig.parts.floors.reserve({ ...orphan, ttlMs: 1 });
      await rig.until('the cut behind the reservation', async () => {
        const { partitions } = await rig.cycle(topic);
        return partitions.some(
          ({ outcome, cutOffsets, holder }) => outcome === 'cut' && cutOffsets === 50n && holder === undefined,
        );
      });
      expect(await rig.logStarts(topic)).toEqual([50n]);
      await rig.floorsAre(topic, [undefined]);
    });

    it('a new job begins where the log begins', async () => {
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 50);
      await rig.distribute();
      await rig.finish(await rig.submit({ topic, to: '0:29' }));
      const held = await rig.submit({ topic, from: '0:30', to: '0:39' });
      expect(await rig.outcomes(topic)).toEqual(['cut']);
      const next = await rig.submit({ topic });
      const { pin } = await rig.state(next, () => true);
      expect(pin?.partitions[0]).toMatchObject({ start: 29n, end: 49n });
      await rig.finish(held);
      await rig.finish(next);
    });
  });
}
