import type { JobCommand, JobState, SeriesState } from '@tidemark/contracts';
import { type CommandName, newRequest } from '@tidemark/jobs';
import { sampleSeries, sampleState } from '@tidemark/jobs/testing';
import { NO_COUNTS } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { killAll } from './kill-all.ts';
import { ANSWER_TIMEOUT_MS } from './limits.ts';
import type { Order } from './order.ts';
import { steerJob } from './steer.ts';
import { scriptedJobLog } from './testing/scripted-job-log.ts';

const PATIENCE_MS = 50;
const by = { reason: 'a test', actor: 'tester' };
const order = (command: CommandName, more: Partial<Order> = {}): Order => ({ jobId: 'job-1', command, ...by, ...more });

/** The n-th state of a job, each a second after the one before. */
function nth(n: number, state: string, more: Partial<JobState> = {}): JobState {
  return sampleState({ state, updatedAtMs: BigInt(n) * 1_000n, ...more });
}

const applied = (n: number, state: string, { commandId }: JobCommand): JobState =>
  nth(n, state, { commandIds: [commandId] });

describe('before anything is written', () => {
  it.each<[command: CommandName, state: string, kind: string]>([
    ['pause', 'PAUSED', 'already'],
    ['pause', 'SUSPENDED', 'not in this state'],
    ['pause', 'PINNING', 'not in this state'],
    ['pause', 'CANCELLING', 'not in this state'],
    ['pause', 'COMPLETED', 'not in this state'],
    ['resume', 'RUNNING', 'already'],
    ['resume', 'PAUSING', 'not in this state'],
    ['resume', 'CANCELLED', 'not in this state'],
    ['cancel', 'CANCELLED', 'already'],
    ['cancel', 'COMPLETED', 'not in this state'],
    ['kill', 'PAUSED', 'already'],
    ['kill', 'SUSPENDED', 'not in this state'],
    ['kill', 'UNRECOVERABLE', 'not in this state'],
  ])('%s of a job that is %s: %s', async (command, state, kind) => {
    const jobLog = scriptedJobLog({ states: [nth(1, state)] });
    expect(await steerJob({ jobLog }, order(command))).toMatchObject({ kind, state: { state } });
    expect(jobLog.commands).toEqual([]);
  });

  it('a job that nobody knows', async () => {
    expect(await steerJob({ jobLog: scriptedJobLog({ states: [] }) }, order('pause'))).toEqual({ kind: 'unknown job' });
  });

  it('a dry run writes nothing', async () => {
    const jobLog = scriptedJobLog({ states: [nth(1, 'RUNNING')] });
    expect(await steerJob({ jobLog }, order('kill'), { dryRun: true })).toMatchObject({ kind: 'dry run' });
    expect(jobLog.commands).toEqual([]);
  });

  it('a budget is not raised on a job that runs', async () => {
    const jobLog = scriptedJobLog({ states: [nth(1, 'RUNNING')] });
    const answer = await steerJob({ jobLog }, order('resume', { raise: { chunksMax: 9n } }));
    expect(answer).toMatchObject({ kind: 'not in this state' });
  });
});

describe('an order that is written', () => {
  it('is followed through PAUSING to PAUSED, past the states of earlier pauses', async () => {
    const jobLog = scriptedJobLog({
      states: [nth(1, 'RUNNING'), nth(2, 'PAUSED'), nth(3, 'RUNNING')],
      onCommand: (command) => {
        setImmediate(() => jobLog.write(applied(5, 'PAUSED', command)));
        return [applied(4, 'PAUSING', command)];
      },
    });
    expect(await steerJob({ jobLog }, order('pause', { deadlineMs: 1_500 }))).toMatchObject({
      kind: 'applied',
      state: { state: 'PAUSED', updatedAtMs: 5_000n },
    });
    expect(jobLog.commands).toMatchObject([{ command: 'pause', force: false, deadlineMs: 1_500n, ...by }]);
  });

  it('says so while chunks in flight keep the job', async () => {
    const jobLog = scriptedJobLog({
      states: [nth(1, 'RUNNING')],
      onCommand: (command) => [applied(2, 'PAUSING', command)],
    });
    const answer = await steerJob({ jobLog }, order('pause'), { answerTimeoutMs: PATIENCE_MS });
    expect(answer).toMatchObject({ kind: 'under way', state: { state: 'PAUSING' } });
  });

  it('waits until the deadline of a drain, however short the patience with a distributor is', async () => {
    const deadlineAtMs = BigInt(Date.now() + 60_000);
    const jobLog = scriptedJobLog({
      states: [nth(1, 'RUNNING')],
      onCommand: (command) => {
        // Later than the patience, so that only the deadline can be what is waited for.
        setTimeout(() => jobLog.write(applied(3, 'PAUSED', command)), 3 * PATIENCE_MS);
        return [nth(2, 'PAUSING', { commandIds: [command.commandId], deadlineAtMs })];
      },
    });
    const answer = await steerJob({ jobLog }, order('pause'), { answerTimeoutMs: PATIENCE_MS });
    expect(answer).toMatchObject({ kind: 'applied', state: { state: 'PAUSED' } });
  });

  it('hurries a pause that is under way', async () => {
    const jobLog = scriptedJobLog({
      states: [nth(1, 'PAUSING')],
      onCommand: (command) => [applied(2, 'PAUSED', command)],
    });
    expect(await steerJob({ jobLog }, order('pause', { force: true }))).toMatchObject({ kind: 'applied' });
    expect(jobLog.commands).toMatchObject([{ force: true }]);
  });

  it('kills what is being cancelled by cancelling it at once', async () => {
    const onCommand = (command: JobCommand) => [applied(2, 'CANCELLING', command), nth(3, 'CANCELLED')];
    const jobLog = scriptedJobLog({ states: [nth(1, 'CANCELLING')], onCommand });
    expect(await steerJob({ jobLog }, order('kill'))).toMatchObject({ kind: 'applied', state: { state: 'CANCELLED' } });
  });

  it('waits for a pause that somebody else ordered', async () => {
    const jobLog = scriptedJobLog({ states: [nth(1, 'PAUSING')] });
    const answer = steerJob({ jobLog }, order('pause'));
    setImmediate(() => jobLog.write(nth(2, 'PAUSED')));
    expect(await answer).toMatchObject({ kind: 'already', state: { state: 'PAUSED' } });
    expect(jobLog.commands).toEqual([]);
  });

  it.each([
    ['was over before it came', () => [nth(2, 'COMPLETED')]],
    [
      'ran to its end while it was paused',
      (command: JobCommand) => [applied(2, 'PAUSING', command), nth(3, 'COMPLETED')],
    ],
  ])('of a job that %s: overtaken', async (_, onCommand) => {
    const jobLog = scriptedJobLog({ states: [nth(1, 'RUNNING')], onCommand });
    expect(await steerJob({ jobLog }, order('pause'))).toMatchObject({
      kind: 'overtaken',
      state: { state: 'COMPLETED' },
    });
  });

  it('without a distributor is unanswered, and not waited for when told so', async () => {
    const jobLog = scriptedJobLog({ states: [nth(1, 'RUNNING')] });
    const answer = await steerJob({ jobLog }, order('cancel'), { answerTimeoutMs: PATIENCE_MS });
    expect(answer).toEqual({ kind: 'unanswered', waitedMs: PATIENCE_MS });
    expect(await steerJob({ jobLog }, order('cancel'), { answerTimeoutMs: 0 })).toEqual({ kind: 'ordered' });
  });
});

describe('a resume with a raised budget', () => {
  const request = newRequest({
    jobId: 'job-1',
    topic: 'orders',
    handler: 'count',
    budget: { secondsMax: 60n, chunksMax: 10n, failuresMax: 0n },
  });
  const checkpoint = {
    formatVersion: 1,
    jobId: 'job-1',
    partition: 0,
    start: -1n,
    cursor: 9n,
    horizon: 9n,
    status: 'open',
    note: '',
    counters: { ...NO_COUNTS, ok: 10n, chunks: 10n },
    lost: [],
    passed: [],
    parked: [],
    token: '',
    version: 1n,
    atMs: 0n,
  };
  const suspended = nth(1, 'SUSPENDED', { request, reason: 'budget: 10 chunks, the job may use up 10' });

  it('says again what is not raised', async () => {
    const jobLog = scriptedJobLog({
      states: [suspended],
      checkpoints: [checkpoint],
      onCommand: (command) => [applied(2, 'RUNNING', command)],
    });
    const answer = await steerJob({ jobLog }, order('resume', { raise: { chunksMax: 20n, deadLettersMax: 3n } }));
    expect(answer).toMatchObject({ kind: 'applied' });
    expect(jobLog.commands).toMatchObject([
      { budget: { secondsMax: 60n, chunksMax: 20n, failuresMax: 0n }, deadLettersMax: 3n },
    ]);
  });

  it.each([
    ['nothing', {}],
    ['another budget', { secondsMax: 600n }],
    ['too little', { chunksMax: 10n }],
  ])('that raises %s is refused, naming what is used up', async (_, raise) => {
    const jobLog = scriptedJobLog({ states: [suspended], checkpoints: [checkpoint] });
    expect(await steerJob({ jobLog }, order('resume', { raise }))).toMatchObject({
      kind: 'used up',
      what: expect.stringContaining('10 chunks'),
    });
    expect(jobLog.commands).toEqual([]);
  });

  it('of a job that is suspended for something else needs no raise', async () => {
    const state = nth(1, 'SUSPENDED', { reason: 'breaker sms' });
    const jobLog = scriptedJobLog({ states: [state], onCommand: (command) => [applied(2, 'RUNNING', command)] });
    expect(await steerJob({ jobLog }, order('resume'))).toMatchObject({ kind: 'applied' });
    expect(jobLog.commands).toMatchObject([{ budget: null, deadLettersMax: -1n }]);
  });
});

describe('kill of all', () => {
  const job = (n: number, jobId: string, state: string, commandIds: readonly string[] = []): JobState =>
    nth(n, state, { jobId, commandIds: [...commandIds] });
  const states = [job(1, 'a', 'RUNNING'), job(1, 'b', 'PAUSING'), job(1, 'c', 'SUSPENDED'), job(1, 'd', 'COMPLETED')];

  it('is one command, and waits for every job that ran', async () => {
    const jobLog = scriptedJobLog({
      states,
      onCommand: ({ commandId }) => [job(2, 'a', 'PAUSED', [commandId]), job(2, 'b', 'COMPLETED')],
    });
    const answer = await killAll({ jobLog }, by);
    expect(answer).toMatchObject({ kind: 'applied', states: [{ jobId: 'a' }, { jobId: 'b', state: 'COMPLETED' }] });
    expect(jobLog.commands).toMatchObject([{ jobId: '*', command: 'kill' }]);
  });

  it('has reached a job that somebody has resumed since', async () => {
    const jobLog = scriptedJobLog({
      states: [job(1, 'a', 'RUNNING')],
      onCommand: ({ commandId }) => [job(2, 'a', 'RUNNING', [commandId])],
    });
    expect(await killAll({ jobLog }, by, { answerTimeoutMs: PATIENCE_MS })).toMatchObject({ kind: 'applied' });
  });

  it('names the jobs that are not stopped in time', async () => {
    const jobLog = scriptedJobLog({ states, onCommand: ({ commandId }) => [job(2, 'a', 'PAUSED', [commandId])] });
    const answer = await killAll({ jobLog }, by, { answerTimeoutMs: PATIENCE_MS });
    expect(answer).toMatchObject({ kind: 'unanswered', left: ['b'] });
  });

  it('stops every series that is active, and waits for those, too', async () => {
    const at = (n: number, fields: Partial<SeriesState>) => sampleSeries({ updatedAtMs: BigInt(n), ...fields });
    const series = [
      at(1, { series: 'x', status: 'STOPPED' }),
      at(2, { series: 'x', status: 'ACTIVE' }),
      at(1, { series: 'y' }),
      at(1, { series: 'z', status: 'STOPPED' }),
    ];
    const jobLog = scriptedJobLog({
      states: [],
      series,
      onCommandToSeries: ({ commandId }) => [
        at(3, { series: 'x', status: 'STOPPED', orderIds: [commandId] }),
        at(3, { series: 'y', status: 'DELETED' }),
      ],
    });
    const dry = await killAll({ jobLog }, by, { dryRun: true });
    expect(dry).toMatchObject({ kind: 'dry run', series: [{ series: 'x' }, { series: 'y' }] });
    expect(await killAll({ jobLog }, by, { answerTimeoutMs: ANSWER_TIMEOUT_MS })).toMatchObject({
      kind: 'applied',
      series: [
        { series: 'x', status: 'STOPPED' },
        { series: 'y', status: 'DELETED' },
      ],
    });
    const silent = scriptedJobLog({ states: [], series });
    expect(await killAll({ jobLog: silent }, by, { answerTimeoutMs: PATIENCE_MS })).toMatchObject({
      kind: 'unanswered',
      left: ['series x', 'series y'],
    });
  });

  it('is written when nothing runs, too, and a dry run only tells', async () => {
    const jobLog = scriptedJobLog({ states: [] });
    expect(await killAll({ jobLog }, by, { dryRun: true })).toEqual({ kind: 'dry run', states: [], series: [] });
    expect(jobLog.commands).toEqual([]);
    expect(await killAll({ jobLog }, by)).toEqual({ kind: 'applied', states: [], series: [] });
    expect(jobLog.commands).toHaveLength(1);
  });
});
