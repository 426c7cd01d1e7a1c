/** What becomes of a topic while it is guarded: its settings, its partitions, its records, by the hands of others. */
import { describe, expect, it } from 'vitest';
import { runCycle } from '../cycle.ts';
import type { RigOf } from './guard-rig.ts';
import { A_WEEK, EVERYTHING } from './policies.ts';

export function topicScenarios(where: string, rigOf: RigOf): void {
  describe(`guarded topics (${where})`, () => {
    it('refuses a compacted topic and a missing one, names settings that let the broker cut, and serves the others', async () => {
      const rig = rigOf();
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

    it('settings that let the broker cut are set to ours when it may, once, and no others', async () => {
      const rig = rigOf();
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
      const rig = rigOf();
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

    it('B3: a guarded topic that was deleted stays away, however often it is looked after', async () => {
      const rig = rigOf();
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
      const rig = rigOf();
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
  });
}
