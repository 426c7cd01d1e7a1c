/** Windows that the log keeps whole for an audit: from the acceptance of a job until a release or a deadline. */
import type { JobRequested } from '@tidemark/contracts';
import { toOffset } from '@tidemark/keyspace';
import { waitFor } from '@tidemark/testkit';
import { describe, expect, it } from 'vitest';
import { floorsOf, placeOf } from './floor-scenarios.ts';
import type { Rig } from './rig.ts';
import { checkpointed, firstRange, numbers, type RigOf, raise } from './scenario-looks.ts';

const AN_HOUR_MS = 3_600_000n;

export function auditHoldScenarios(where: string, rigOf: RigOf): void {
  describe(`holds for an audit (${where})`, () => {
    it('P7, P10: the window stays whole while the job runs and after it has ended, over a lost store and a new leader, until it is released', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(2);
      await rig.produce(topic, 0, numbers(10));
      const former = await rig.start();
      const jobId = await rig.request({ topic, from: '0:2,1:0', holdForAuditMs: AN_HOUR_MS });
      const audit = `audit:${jobId}`;
      const range = await firstRange(rig, jobId);
      await rig.settle(jobId, range, toOffset(5));
      await checkpointed(rig, jobId, 5n);
      await heldAre(rig, topic, { [jobId]: 6n, [audit]: 2n });
      expect((await floorsOf(rig, topic))[1]).toEqual([]); // Of an empty window nothing is proved.

      await rig.settleAll(jobId);
      const ended = await rig.ended(jobId);
      expect(ended).toMatchObject({ state: 'COMPLETED', heldForAuditUntilMs: ended.updatedAtMs + AN_HOUR_MS });
      await heldAre(rig, topic, { [audit]: 2n });
      await rig.parts.loseStore();
      await heldAre(rig, topic, { [audit]: 2n });
      await former.stop('a test');
      await rig.parts.loseStore();
      await rig.start();
      await heldAre(rig, topic, { [audit]: 2n });
      const place = await placeOf(rig, topic);
      const { life } = (await rig.parts.floors.look(place)) ?? raise('the place is incomplete');
      const question = { place, life, target: toOffset(10n), required: [audit] };
      expect(await rig.parts.floors.propose(question)).toEqual({ kind: 'proposed', mark: 2n });

      await rig.command(jobId, 'release', { reason: 'proved' });
      const released = await rig.state(jobId, ({ heldForAuditUntilMs }) => heldForAuditUntilMs === 0n);
      expect(released).toMatchObject({ state: 'COMPLETED', reason: 'clean', totals: ended.totals });
      await heldAre(rig, topic, {});
      await rig.command(jobId, 'release');
      await waitFor('the refusal', async () => (await rig.kinds(jobId)).includes('JobCommandRefused'));
      expect((await rig.events(jobId)).slice(-3)).toMatchObject([
        { kind: 'JobCompleted' },
        { kind: 'JobAuditHoldReleased', reason: 'proved', actor: 'tester' },
        { kind: 'JobCommandRefused', reason: expect.stringContaining('the log is not held for an audit of it') },
      ]);
    });

    it('is there before the job is accepted, so that no moment is without it; a job that asked for none has none', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      const { frozen, release } = await rig.startFrozenAt('job.confirmed');
      const jobId = await rig.request({ topic, holdForAuditMs: 1n });
      await frozen;
      expect(await heldIn(rig, topic)).toEqual({ [jobId]: 0n, [`audit:${jobId}`]: 0n });
      // Nobody has heard that it was accepted: the next one confirms both anew.
      await rig.parts.loseStore();
      await rig.start();
      await rig.state(jobId, 'RUNNING');
      expect(await heldIn(rig, topic)).toEqual({ [jobId]: 0n, [`audit:${jobId}`]: 0n });
      release();
      const plain = await rig.request({ topic });
      await rig.ranges(plain);
      expect(Object.keys(await heldIn(rig, topic))).not.toContain(`audit:${plain}`);
    });

    it('ends by its deadline, and says so', async () => {
      const rig = rigOf();
      const { topic, jobId, pass } = await endedWithHold(rig, { holdForAuditMs: AN_HOUR_MS });
      pass(AN_HOUR_MS - 60_000n);
      await rounds(rig);
      expect(await heldIn(rig, topic)).toEqual({ [`audit:${jobId}`]: 0n });
      pass(120_000n);
      await rig.state(jobId, ({ heldForAuditUntilMs }) => heldForAuditUntilMs === 0n);
      await heldAre(rig, topic, {});
      expect((await rig.events(jobId)).at(-1)).toMatchObject({
        kind: 'JobAuditHoldEnded',
        reason: 'nobody proved it within 3600 s of its end',
        actor: 'distributor',
      });
    });

    it('killed between the durable release and the floors: the successor drops them', async () => {
      const rig = rigOf();
      const { topic, jobId } = await endedWithHold(rig, { holdForAuditMs: AN_HOUR_MS });
      const { frozen, release } = await rig.startFrozenAt('hold.committed');
      await rig.command(jobId, 'release');
      await frozen;
      expect(await heldIn(rig, topic)).toEqual({ [`audit:${jobId}`]: 0n });
      await rig.start();
      expect(await heldIn(rig, topic)).toEqual({});
      release();
    });

    it('killed between the durable end and the keys: the successor drops the floor of the job, and keeps the hold', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      const { frozen, release } = await rig.startFrozenAt('end.committed');
      const jobId = await rig.request({ topic, holdForAuditMs: AN_HOUR_MS });
      await rig.settleAll(jobId);
      await frozen;
      expect(Object.keys(await heldIn(rig, topic)).sort()).toEqual([`audit:${jobId}`, jobId].sort());
      await rig.start();
      expect(await heldIn(rig, topic)).toEqual({ [`audit:${jobId}`]: 0n });
      release();
    });

    it('is held for a cancelled job, too, and not for one without a window', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      await rig.start();
      const jobId = await rig.request({ topic, holdForAuditMs: AN_HOUR_MS });
      await rig.settle(jobId, await firstRange(rig, jobId), toOffset(5));
      await rig.command(jobId, 'cancel');
      const ended = await rig.ended(jobId);
      expect(ended).toMatchObject({ state: 'CANCELLED', heldForAuditUntilMs: ended.updatedAtMs + AN_HOUR_MS });
      await heldAre(rig, topic, { [`audit:${jobId}`]: 0n });
      const empty = await rig.request({ topic, from: 'now', holdForAuditMs: AN_HOUR_MS });
      expect(await rig.ended(empty)).toMatchObject({ state: 'COMPLETED', heldForAuditUntilMs: 0n });
      const refused = await rig.request({ topic: 'no-such-topic', holdForAuditMs: AN_HOUR_MS });
      expect(await rig.ended(refused)).toMatchObject({ state: 'REFUSED', heldForAuditUntilMs: 0n });
    });

    it('released while the job runs, it is gone at once and for good, and the job goes on', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      await rig.start();
      const jobId = await rig.request({ topic, holdForAuditMs: AN_HOUR_MS });
      await rig.ranges(jobId);
      const before = await rig.state(jobId, 'RUNNING');
      await rig.command(jobId, 'release');
      const released = await rig.state(jobId, ({ heldForAuditUntilMs }) => heldForAuditUntilMs === 0n);
      expect(released).toMatchObject({ state: 'RUNNING', runningSinceMs: before.runningSinceMs });
      await heldAre(rig, topic, { [jobId]: 0n });
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', heldForAuditUntilMs: 0n });
      await heldAre(rig, topic, {});
    });
  });
}

/** A job that has ended and is held, and a way to let time pass for the distributors that are there from then on. */
async function endedWithHold(rig: Rig, fields: Pick<JobRequested, 'holdForAuditMs'>) {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, numbers(10));
  let passedMs = 0n;
  await rig.start({ nowMs: () => Date.now() + Number(passedMs) });
  const jobId = await rig.request({ topic, ...fields });
  await rig.settleAll(jobId);
  await rig.ended(jobId);
  await heldAre(rig, topic, { [`audit:${jobId}`]: 0n });
  const pass = (ms: bigint): void => {
    passedMs += ms;
  };
  return { topic, jobId, pass };
}

/** Whole ones: what a round does it has done by then. */
async function rounds(rig: Rig): Promise<void> {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, numbers(1));
  const jobId = await rig.request({ topic });
  await rig.settleAll(jobId);
  await rig.ended(jobId);
  const next = await rig.request({ topic });
  await rig.settleAll(next);
  await rig.ended(next);
}

/** Who holds what of partition 0, for good. */
async function heldIn(rig: Rig, topic: string): Promise<Readonly<Record<string, bigint>>> {
  const [floors = []] = await floorsOf(rig, topic);
  return Object.fromEntries(floors.map(({ holder, offset }) => [holder, BigInt(offset)]));
}

async function heldAre(rig: Rig, topic: string, wanted: Readonly<Record<string, bigint>>): Promise<void> {
  const text = (held: Readonly<Record<string, bigint>>): string =>
    Object.entries(held)
      .map(([holder, offset]) => `${holder} ${offset}`)
      .sort()
      .join(', ');
  await waitFor(`floors ${text(wanted)}`, async () => text(await heldIn(rig, topic)) === text(wanted));
}
