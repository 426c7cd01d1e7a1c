/** Jobs that ended long ago: forgotten everywhere, and never too early. */
import type { JobRequested } from '@tidemark/contracts';
import { jobTopics } from '@tidemark/jobs';
import { type Offset, toOffset } from '@tidemark/keyspace';
import { waitFor } from '@tidemark/testkit';
import { describe, expect, it } from 'vitest';
import type { DistributorOptions } from '../distributor.ts';
import type { Rig } from './rig.ts';
import { enlisted, firstRange, numbers, type RigOf, raise } from './scenario-looks.ts';
import { runNow } from './series-scenarios.ts';

const KEPT_MS = 86_400_000;

/** A clock that a test moves on, and a look at every round. */
export function longLived(): Partial<DistributorOptions> & { readonly clock: { skippedMs: number } } {
  const clock = { skippedMs: 0 };
  const nowMs = () => Date.now() + clock.skippedMs;
  return { clock, nowMs, keeping: { endedMs: KEPT_MS, runs: 2 }, removalEveryMs: 0 };
}

export function removalScenarios(where: string, rigOf: RigOf): void {
  describe(`removal (${where})`, () => {
    it('P3: nothing is left of a job that ended long ago, and a later one under its id is another job', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(2);
      await rig.produce(topic, 0, numbers(5));
      await rig.produce(topic, 1, numbers(5));
      const { clock, ...options } = longLived();
      const distributor = await rig.start(options);
      const old = await rig.request({ topic });
      const token = await rig.settle(old, await firstRange(rig, old), toOffset(4));
      await rig.settleAll(old);
      await rig.ended(old);
      clock.skippedMs = 2 * KEPT_MS;
      await finishOne(rig, topic);
      // Its request is still there, and would be read again by whoever sets the position back.
      expect((await rig.jobLog.states()).has(old)).toBe(true);
      await trimRequests(rig);
      await removed(rig, old);
      expect(await rig.jobLog.checkpoints(old)).toEqual([]);
      expect(await newestOf(rig, old)).toEqual({ states: [null], checkpoints: [null, null] });
      expect((await rig.kinds(old)).at(-1)).toBe('JobRemoved');
      const again = await rig.request({ topic, jobId: old, from: '0:3,1:0' });
      const { state } = await rig.state(old, 'RUNNING');
      expect(state).toBe('RUNNING');
      const held = await rig.hold(old, await firstRange(rig, old));
      expect(held.token > token).toBe(true);
      await held.release();
      await distributor.stop('a test');
      await rig.start(options);
      // Old checkpoints, of which a log keeps some for a while, are not taken for those of the later job.
      await rig.settleAll(again);
      expect(await rig.ended(again)).toMatchObject({ state: 'COMPLETED', totals: { ok: 7n } });
    });

    it('a request that waited unread while the horizon ran out is not run again', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(5));
      const { clock, ...options } = longLived();
      const first = await rig.start(options);
      const jobId = await finishOne(rig, topic);
      await finishOne(rig, topic);
      await first.stop('a test');
      await trimRequests(rig);
      await rig.request({ topic, jobId });
      clock.skippedMs = 2 * KEPT_MS;
      await rig.start(options);
      await finishOne(rig, topic);
      await removed(rig, jobId);
      expect((await rig.kinds(jobId)).filter((kind) => kind === 'JobRequested')).toHaveLength(1);
    });

    it('P3: of a series the newest runs are left; the id of one that is gone is refused, and so is what would follow it', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      const { clock: _, ...options } = longLived();
      await rig.start(options);
      await rig.createSeries('often', { topic, from: 'earliest' });
      for (let number = 1n; number <= 6n; number += 1n) {
        await rig.produce(topic, 0, numbers(2));
        await rig.settleAll(await runNow(rig, 'often', number));
        await rig.seriesState('often', ({ runs, liveRun }) => runs === number && liveRun === '');
      }
      await removed(rig, 'often-4');
      expect([...(await rig.jobLog.states()).keys()].sort()).toEqual(['often-5', 'often-6']);
      const again = await rig.state(await rig.request({ topic, jobId: 'often-3' }), 'REFUSED');
      expect(again.reason).toContain('ID_OF_A_RUN: often-3 was a run of series often');
      const after = await rig.ended(await rig.request({ topic, from: 'after:often-2' }));
      expect(after.reason).toMatch(/no job often-2 is known.*removed/);
      await rig.produce(topic, 0, numbers(2));
      await rig.settleAll(await runNow(rig, 'often', 7n));
      expect((await rig.ended('often-7')).pin?.partitions).toMatchObject([{ start: 11n, end: 13n }]);
    });

    it('P8: a store that comes back older than what was forgotten is rid of it', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(2));
      const { clock: _, ...options } = longLived();
      await rig.start(options);
      await rig.createSeries('often', { topic, from: 'earliest' });
      const first = await runNow(rig, 'often', 1n);
      await rig.definition(first);
      const comeBack = await rig.parts.dumpStore();
      await rig.settleAll(first);
      for (let number = 2n; number <= 4n; number += 1n) {
        await rig.produce(topic, 0, numbers(2));
        await rig.settleAll(await runNow(rig, 'often', number));
      }
      await removed(rig, first);
      await comeBack();
      // Of the schedule a dump may bring back anything.
      await rig.parts.schedule.enlist({ jobId: first, definition: '{}', priority: 0 });
      await waitFor(`${first} to be gone`, async () => {
        return !(await enlisted(rig)).includes(first) && (await rig.parts.store.snapshot(first)) === undefined;
      });
    });

    it.each(['removal.planned', 'removal.cleared', 'removal.committed'] as const)(
      'a distributor that dies at %s leaves it to the next one, and takes nothing from a job that has the id then',
      async (step) => {
        const rig = rigOf();
        const topic = await rig.parts.newTopic(1);
        await rig.produce(topic, 0, numbers(5));
        // A proof from before the freeze tells nothing, however long it is trusted elsewhere.
        const { clock, ...options } = { ...longLived(), proofTrustMs: 600_000 };
        const { frozen, release, distributor } = await rig.startFrozenAt(step, options);
        const old = await finishOne(rig, topic);
        await finishOne(rig, topic);
        await trimRequests(rig);
        clock.skippedMs = 2 * KEPT_MS;
        await frozen;
        await rig.start(options);
        await removed(rig, old);
        await rig.request({ topic, jobId: old });
        await rig.state(old, 'RUNNING');
        const held = await rig.hold(old, await firstRange(rig, old));
        release();
        await distributor.ended;
        expect(await held.claim(toOffset(4))).toMatchObject({ kind: 'claimed' });
        expect(await held.advance(toOffset(4))).toMatchObject({ kind: 'advanced' });
        expect(await rig.ended(old)).toMatchObject({ state: 'COMPLETED', totals: { ok: 5n } });
      },
    );
  });
}

/** Returns its id, when several rounds have looked at it. */
export async function finishOne(
  rig: Rig,
  topic: string,
  fields: Partial<Pick<JobRequested, 'from' | 'holdForAuditMs'>> = {},
): Promise<string> {
  const jobId = await rig.request({ topic, ...fields });
  await rig.settleAll(jobId);
  await rig.ended(jobId);
  return jobId;
}

/** As retention does in time: what was asked until now is gone from the topic, but for the last record. */
export async function trimRequests(rig: Rig): Promise<void> {
  const { catalog } = rig.parts.cluster;
  const topic = (await catalog.describe(jobTopics(rig.parts.namespace).jobs)) ?? raise('no jobs topic');
  const [offsets] = await catalog.offsets(topic);
  await trim(rig, topic, offsets?.highWatermark ?? raise('no partition'));
}

export async function trim(rig: Rig, topic: { topic: string; topicId: string }, before: Offset): Promise<void> {
  await rig.parts.cluster.catalog.deleteRecordsBefore({ ...topic, partition: 0 }, before);
}

export async function removed(rig: Rig, jobId: string): Promise<void> {
  await waitFor(`${jobId} to be removed`, async () => !(await rig.jobLog.states()).has(jobId));
}

/** What the newest records of its keys hold. */
async function newestOf(rig: Rig, jobId: string) {
  const { jobState, checkpoints } = jobTopics(rig.parts.namespace);
  const read = async (topic: string, isOurs: (key: string) => boolean) => {
    const newest = new Map<string, Buffer | null>();
    await rig.scan(topic, async ({ key, value }) => {
      const name = key?.toString() ?? '';
      if (isOurs(name)) newest.set(name, value);
    });
    return [...newest.values()];
  };
  return {
    states: await read(jobState, (key) => key === jobId),
    checkpoints: await read(checkpoints, (key) => key.startsWith(`${jobId}/`)),
  };
}
