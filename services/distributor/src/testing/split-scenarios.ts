/** Ranges that are cut while they are worked on. */
import { toOffset } from '@tidemark/keyspace';
import { waitFor } from '@tidemark/testkit';
import { describe, expect, it } from 'vitest';
import type { Rig } from './rig.ts';
import { checkpointed, firstRange, numbers, type RigOf } from './scenario-looks.ts';

const RECORDS = 12_000;

async function topicOf(rig: Rig): Promise<string> {
  const topic = await rig.parts.newTopic(1);
  for (let sent = 0; sent < RECORDS; sent += 4_000) await rig.produce(topic, 0, numbers(4_000));
  return topic;
}

export function splitScenarios(where: string, rigOf: RigOf): void {
  describe(`the live split (${where})`, () => {
    it('cuts above what is claimed until every slot has a range, while the owner goes on; the parts are durable and tile', async () => {
      const rig = rigOf();
      const topic = await topicOf(rig);
      await rig.start();
      const jobId = await rig.request({ topic });
      const held = await rig.hold(jobId, await firstRange(rig, jobId));
      await held.claim(toOffset(999));
      // A round cuts by what it saw at its beginning: from here on every one saw the claim.
      await waitFor('the claim to be durable', async () =>
        (await rig.jobLog.checkpoints(jobId)).some(({ horizon }) => horizon === 999n),
      );
      await rig.announce(3);
      const ranges = await rig.ranges(jobId, (all) => all.length === 3);
      expect(ranges.map(({ start, horizon, end }) => [start, horizon, end])).toEqual([
        [-1n, 999n, 3_749n],
        [3_749n, 3_749n, 6_499n],
        [6_499n, 6_499n, 11_999n],
      ]);
      // As long as every slot has a range, no other cut comes.
      await waitFor('the parts to be durable', async () => (await rig.jobLog.checkpoints(jobId)).length >= 3);
      expect((await rig.jobLog.checkpoints(jobId)).map(({ start }) => start).toSorted(ascending)).toEqual([
        -1n,
        3_749n,
        6_499n,
      ]);
      // The owner is told where its range ends now.
      expect(await held.claim(toOffset(11_999))).toMatchObject({ kind: 'claimed', end: 3_749n, horizon: 3_749n });
      expect(await held.advance(toOffset(3_749))).toMatchObject({ kind: 'advanced', done: true });
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ reason: 'clean', totals: { ok: BigInt(RECORDS) } });
    });

    it('P8: a store that forgot a cut is found out and filled with all parts, and is not cut again for a while', async () => {
      const rig = rigOf();
      const topic = await topicOf(rig);
      await rig.start({ splitQuietMs: 600_000 });
      const jobId = await rig.request({ topic });
      await rig.announce(2);
      const [, second] = await rig.ranges(jobId, (all) => all.length === 2);
      if (second === undefined) throw new Error('two ranges expected');
      await rig.settle(jobId, second, toOffset(second.start + 100n));
      await checkpointed(rig, jobId, second.start + 100n);
      await rig.parts.loseStore();
      await rig.announce(8);
      const restored = await rig.ranges(jobId);
      expect(restored.map(({ start, cursor }) => [start, cursor])).toEqual([
        [-1n, -1n],
        [second.start, second.start + 100n],
      ]);
      const rounds = await rig.request({ topic });
      await rig.settleAll(rounds);
      await rig.ended(rounds);
      expect(await rig.ranges(jobId)).toHaveLength(2);
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ reason: 'clean', totals: { ok: BigInt(RECORDS) } });
    });

    it('killed right after a cut: the successor makes the parts durable', async () => {
      const rig = rigOf();
      const topic = await topicOf(rig);
      const first = await rig.startFrozenAt('split.done', { proofTrustMs: 0 });
      const jobId = await rig.request({ topic });
      await rig.ranges(jobId);
      await rig.announce(2);
      await first.frozen;
      await rig.start();
      const [, second] = await rig.ranges(jobId);
      if (second === undefined) throw new Error('two ranges expected');
      await rig.settle(jobId, second, second.end);
      await checkpointed(rig, jobId, second.end);
      first.release();
      await first.distributor.ended;
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ reason: 'clean', totals: { ok: BigInt(RECORDS) } });
    });

    it('neither ordered jobs nor paused ones are cut, and no more than the cap of a job allows', async () => {
      const rig = rigOf();
      const topic = await topicOf(rig);
      await rig.start();
      const ordered = await rig.request({ topic, ordering: 'key' });
      const paused = await rig.request({ topic });
      await rig.ranges(paused);
      await rig.command(paused, 'pause');
      await rig.state(paused, 'PAUSED');
      const capped = await rig.request({ topic, concurrency: 2 });
      await rig.ranges(capped);
      await rig.announce(16);
      await rig.ranges(capped, (all) => all.length === 2);
      const rounds = await rig.request({ topic });
      await rig.ranges(rounds, (all) => all.length > 2);
      expect(await rig.ranges(capped)).toHaveLength(2);
      expect(await rig.ranges(ordered)).toHaveLength(1);
      expect(await rig.ranges(paused)).toHaveLength(1);
    });
  });
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
