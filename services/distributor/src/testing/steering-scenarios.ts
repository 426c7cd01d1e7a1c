/** Pause, resume, kill and cancel. */
import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import type { Rig } from './rig.ts';
import { enlisted, firstRange, gone, numbers, type RigOf } from './scenario-looks.ts';

async function runningJob(rig: Rig, fields: Partial<Parameters<Rig['request']>[0]> = {}) {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, numbers(10));
  const jobId = await rig.request({ topic, ...fields });
  await rig.definition(jobId);
  return { jobId, topic, range: await firstRange(rig, jobId) };
}

export function steeringScenarios(where: string, rigOf: RigOf): void {
  describe(`steering (${where})`, () => {
    it('a pause lets the chunk in hand be settled and starts no other; the cursor is durable with it', async () => {
      const rig = rigOf();
      await rig.start();
      const { jobId, range } = await runningJob(rig);
      const held = await rig.hold(jobId, range);
      await held.claim(toOffset(3));
      await rig.command(jobId, 'pause', { commandId: 'p-1' });
      expect(await rig.state(jobId, 'PAUSING')).toMatchObject({ reason: 'a test', commandIds: ['p-1'] });
      await rig.inMode(jobId, 'draining');
      expect(await held.claim(toOffset(7))).toEqual({ kind: 'not running' });
      expect(await held.advance(toOffset(3))).toMatchObject({ kind: 'advanced' });
      await held.release();
      const paused = await rig.state(jobId, 'PAUSED');
      expect(paused).toMatchObject({ reason: 'a test', deadlineAtMs: 0n, runningSinceMs: 0n });
      expect((await rig.jobLog.checkpoints(jobId)).map(({ cursor }) => cursor)).toEqual([3n]);
      await rig.inMode(jobId, 'halted');
      await expect(rig.hold(jobId, range)).rejects.toThrow('not running');
      expect(await enlisted(rig)).toEqual([]);

      await rig.command(jobId, 'resume');
      await rig.state(jobId, 'RUNNING');
      await rig.letRun(jobId);
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', totals: { ok: 10n } });
      const said = (await rig.events(jobId)).map(({ kind, actor, reason }) => [kind, actor, reason]);
      expect(said.slice(3, 6)).toEqual([
        ['JobPausing', 'tester', 'a test'],
        ['JobPaused', 'distributor', 'nothing is being handled any more'],
        ['JobResumed', 'tester', 'a test'],
      ]);
    });

    it('a pause waits until its deadline; what comes later is not accepted any more', async () => {
      const rig = rigOf();
      await rig.start();
      const { jobId, range } = await runningJob(rig);
      const held = await rig.hold(jobId, range);
      await held.claim(toOffset(3));
      await rig.command(jobId, 'pause', { deadlineMs: 100n });
      await rig.state(jobId, 'PAUSED');
      expect(await held.advance(toOffset(3))).toEqual({ kind: 'not running' });
      expect((await rig.events(jobId)).at(-1)?.reason).toBe('1 ranges that are still being handled are not waited for');
    });

    it('with force nobody is waited for, also when a pause is waiting already', async () => {
      const rig = rigOf();
      await rig.start();
      const { jobId, range } = await runningJob(rig);
      await rig.hold(jobId, range);
      await rig.command(jobId, 'pause');
      await rig.state(jobId, 'PAUSING');
      await rig.command(jobId, 'pause', { commandId: 'again' });
      await rig.command(jobId, 'pause', { force: true });
      await rig.state(jobId, 'PAUSED');
      expect(await refusals(rig, jobId)).toEqual([`pause again: job ${jobId} is PAUSING: it is being paused already`]);
    });

    it('kill halts a job at once, says so, and resume takes it back', async () => {
      const rig = rigOf();
      await rig.start();
      const { jobId, range } = await runningJob(rig);
      const held = await rig.hold(jobId, range);
      await held.claim(toOffset(3));
      await held.advance(toOffset(2));
      await rig.command(jobId, 'kill', { reason: 'it mails everybody' });
      expect(await rig.state(jobId, 'PAUSED')).toMatchObject({ reason: 'killed: it mails everybody' });
      expect(await held.advance(toOffset(3))).toEqual({ kind: 'not running' });
      expect((await rig.jobLog.checkpoints(jobId)).map(({ cursor }) => cursor)).toEqual([2n]);
      await held.release();
      await rig.command(jobId, 'resume');
      await rig.letRun(jobId);
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', totals: { ok: 10n } });
    });

    it('kill of all jobs pauses every one that runs, once, and leaves the others', async () => {
      const rig = rigOf();
      await rig.start();
      const jobs = [await runningJob(rig), await runningJob(rig), await runningJob(rig)];
      const [first, second, resting] = jobs.map(({ jobId }) => jobId) as [string, string, string];
      await rig.hold(first, jobs[0]?.range ?? { partition: 0, start: toOffset(-1) });
      await rig.command(resting, 'pause', { reason: 'at rest' });
      await rig.state(resting, 'PAUSED');
      await rig.command('*', 'kill', { commandId: 'all-1' });
      for (const jobId of [first, second])
        expect(await rig.state(jobId, 'PAUSED')).toMatchObject({ reason: 'killed: a test', commandIds: ['all-1'] });
      expect(await rig.state(resting, 'PAUSED')).toMatchObject({ reason: 'at rest' });
      await rig.command(second, 'resume');
      await rig.state(second, 'RUNNING');
      // Sent again because its answer was lost; and the jobs of later requests are not meant.
      await rig.command('*', 'kill', { commandId: 'all-1' });
      const { jobId: later } = await runningJob(rig);
      expect((await rig.jobLog.states()).get(second)?.state).toBe('RUNNING');
      expect((await rig.jobLog.states()).get(later)?.state).toBe('RUNNING');
    });

    it('only kill may name all jobs', async () => {
      const rig = rigOf();
      await rig.start();
      const { jobId } = await runningJob(rig);
      await rig.command('*', 'cancel');
      const { jobId: later } = await runningJob(rig);
      expect((await rig.jobLog.states()).get(jobId)?.state).toBe('RUNNING');
      expect((await rig.jobLog.states()).get(later)?.state).toBe('RUNNING');
    });

    it('F6: of twenty resumes at once one wins, and the others are told', async () => {
      const rig = rigOf();
      await rig.start();
      const { jobId } = await runningJob(rig);
      await rig.command(jobId, 'kill');
      await rig.state(jobId, 'PAUSED');
      const ids = await Promise.all(Array.from({ length: 20 }, () => rig.command(jobId, 'resume')));
      await rig.letRun(jobId);
      const { jobId: marker } = await runningJob(rig);
      await rig.state(marker, 'RUNNING');
      const kinds = await rig.kinds(jobId);
      expect(kinds.filter((kind) => kind === 'JobResumed')).toHaveLength(1);
      const winner = (await rig.jobLog.states()).get(jobId)?.commandIds.at(-1) ?? '';
      const losers = ids.filter((id) => id !== winner);
      expect(losers).toHaveLength(19);
      expect((await refusals(rig, jobId)).toSorted()).toEqual(
        losers.map((id) => `resume ${id}: job ${jobId} is RUNNING: it is running already`).toSorted(),
      );
    });

    it('a command id is applied once, whatever happened to the job since', async () => {
      const rig = rigOf();
      await rig.start();
      const { jobId } = await runningJob(rig);
      await rig.command(jobId, 'pause', { commandId: 'p-1' });
      await rig.state(jobId, 'PAUSED');
      await rig.command(jobId, 'resume');
      await rig.state(jobId, 'RUNNING');
      await rig.command(jobId, 'pause', { commandId: 'p-1' });
      await runningJob(rig);
      expect((await rig.jobLog.states()).get(jobId)?.state).toBe('RUNNING');
      expect(await refusals(rig, jobId)).toEqual([]);
    });

    it('more dead letters than allowed suspend a job; only a resume with a larger cap lets it go on', async () => {
      const rig = rigOf();
      await rig.start();
      const { jobId, range } = await runningJob(rig, { deadLettersMax: 2n });
      await rig.settle(jobId, range, toOffset(4), { add: { ok: 2n, deadLettered: 3n } });
      expect(await rig.state(jobId, 'SUSPENDED')).toMatchObject({ reason: 'dead letters: 3, the job allows 2' });
      await rig.command(jobId, 'resume', { commandId: 'r-1' });
      await rig.command(jobId, 'resume', { deadLettersMax: 3n });
      expect(await rig.state(jobId, 'RUNNING')).toMatchObject({ deadLettersMax: 3n });
      expect(await refusals(rig, jobId)).toEqual([
        `resume r-1: job ${jobId} has used up dead letters: 3, the job allows 2; resume it with more`,
      ]);
      await rig.letRun(jobId);
      await rig.settleAll(jobId);
      const totals = { ok: 7n, deadLettered: 3n };
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', reason: 'dead letters', totals });
    });

    it('a used-up budget suspends a job, and a resume may raise it', async () => {
      const rig = rigOf();
      await rig.start();
      const budget = { secondsMax: 0n, chunksMax: 2n, failuresMax: 0n };
      const { jobId, range } = await runningJob(rig, { budget });
      await rig.settle(jobId, range, toOffset(1), { add: { chunks: 1n } });
      await rig.settle(jobId, range, toOffset(3), { add: { chunks: 1n } });
      expect(await rig.state(jobId, 'SUSPENDED')).toMatchObject({ reason: 'budget: 2 chunks, the job may use up 2' });
      await rig.command(jobId, 'resume', { budget: { ...budget, chunksMax: -1n }, commandId: 'bad' });
      await rig.command(jobId, 'resume', { budget: { ...budget, chunksMax: 3n } });
      await rig.state(jobId, 'RUNNING');
      expect(await refusals(rig, jobId)).toEqual(['resume bad: budget.chunksMax -1 is negative']);
      await rig.letRun(jobId);
      await rig.settle(jobId, range, toOffset(5), { add: { chunks: 1n } });
      expect(await rig.state(jobId, 'SUSPENDED')).toMatchObject({ reason: 'budget: 3 chunks, the job may use up 3' });
    });

    it('a suspension lets the chunks in hand be settled, and begins no other', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(2);
      for (const partition of [0, 1]) await rig.produce(topic, partition, numbers(10));
      await rig.start();
      const jobId = await rig.request({ topic, onExhausted: 'suspend' });
      const [busy, failing] = await rig.ranges(jobId);
      if (busy === undefined || failing === undefined) throw new Error('two ranges expected');
      const held = await rig.hold(jobId, busy);
      await held.claim(toOffset(4));
      await rig.leave(jobId, failing, { note: 'suspend: record 0 failed: boom', stop: false });
      await rig.inMode(jobId, 'draining');
      expect(await held.claim(toOffset(8))).toEqual({ kind: 'not running' });
      expect(await held.advance(toOffset(4))).toMatchObject({ kind: 'advanced' });
      await held.release();
      expect(await rig.state(jobId, 'SUSPENDED')).toMatchObject({ reason: 'record 0 failed: boom in partition 1' });
      const cursors = (await rig.jobLog.checkpoints(jobId)).map(({ partition, cursor }) => [partition, cursor]);
      expect(cursors).toEqual([
        [0, 4n],
        [1, -1n],
      ]);
    });

    it('a budget of seconds counts the time in RUNNING', async () => {
      const rig = rigOf();
      // It stands still but for the test: every second of running counts.
      let nowMs = Date.now();
      await rig.start({ nowMs: () => nowMs });
      const { jobId } = await runningJob(rig, { budget: { secondsMax: 60n, chunksMax: 0n, failuresMax: 0n } });
      await rig.command(jobId, 'pause');
      await rig.state(jobId, 'PAUSED');
      nowMs += 3_600_000;
      await rig.command(jobId, 'resume');
      await rig.state(jobId, 'RUNNING');
      nowMs += 60_000;
      expect((await rig.state(jobId, 'SUSPENDED')).reason).toMatch(/^budget: 60 seconds of running/);
    });

    it('a breaker that stays open suspends the job that waits for it', async () => {
      const rig = rigOf();
      await rig.start({ breakerDeadlineMs: 100 });
      const { jobId, range } = await runningJob(rig);
      await rig.leave(jobId, range, { note: 'waiting: breaker billing', stop: false });
      expect(await rig.state(jobId, 'SUSPENDED')).toMatchObject({ reason: 'breaker billing in partition 0' });
    });

    it('a job of which no range can be taken because of a breaker is suspended, too', async () => {
      const rig = rigOf();
      await rig.start({ breakerDeadlineMs: 100 });
      const { jobId } = await runningJob(rig);
      await rig.parts.schedule.noteWaiting({ jobId, reason: 'breaker billing' });
      expect(await rig.state(jobId, 'SUSPENDED')).toMatchObject({ reason: 'breaker billing' });
    });

    it('a record that used up its attempts suspends a job that wants it so, and a resume tries it anew', async () => {
      const rig = rigOf();
      await rig.start();
      const { jobId, range } = await runningJob(rig, { onExhausted: 'suspend' });
      await rig.leave(jobId, range, { note: 'suspend: record 0 failed: boom', stop: false });
      expect(await rig.state(jobId, 'SUSPENDED')).toMatchObject({ reason: 'record 0 failed: boom in partition 0' });
      await rig.command(jobId, 'resume');
      await rig.letRun(jobId);
      // The same text again: it failed once more.
      await rig.leave(jobId, range, { note: 'suspend: record 0 failed: boom', stop: false });
      await rig.state(jobId, ({ state, commandIds }) => state === 'SUSPENDED' && commandIds.length === 1);
      await rig.command(jobId, 'resume');
      await rig.letRun(jobId);
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', totals: { ok: 10n } });
      expect((await rig.kinds(jobId)).filter((kind) => kind === 'JobSuspended')).toHaveLength(2);
    });

    it('cancel ends a paused or suspended job, too', async () => {
      const rig = rigOf();
      await rig.start();
      const { jobId } = await runningJob(rig);
      await rig.command(jobId, 'kill');
      await rig.state(jobId, 'PAUSED');
      await rig.command(jobId, 'cancel', { reason: 'enough' });
      expect(await rig.ended(jobId)).toMatchObject({ state: 'CANCELLED', reason: 'enough' });
      await gone(rig, jobId);
    });
  });
}

async function refusals(rig: Rig, jobId: string): Promise<readonly string[]> {
  const events = await rig.events(jobId);
  return events.filter(({ kind }) => kind === 'JobCommandRefused').map(({ reason }) => reason);
}
