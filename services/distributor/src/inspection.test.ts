import type { JobState, RangeCheckpoint } from '@tidemark/contracts';
import type { JobMode, RangeState } from '@tidemark/cursors';
import { rangeOfCheckpoint } from '@tidemark/jobs';
import { samplePin, sampleRequest, sampleState } from '@tidemark/jobs/testing';
import { NO_COUNTS, toOffset } from '@tidemark/keyspace';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inspect } from './inspection.ts';
import { JobBook, type LiveJob } from './job-book.ts';
import { checkpointOf } from './ranges.ts';

const NOW_MS = 1_700_000_100_000;
const options = {
  nowMs: NOW_MS,
  openTransactionDeadlineMs: 60_000,
  breakerDeadlineMs: 60_000,
  drainDeadlineMs: 30_000,
};

function range(fields: Partial<RangeState> = {}): RangeState {
  const cursor = fields.cursor ?? toOffset(-1);
  return {
    partition: 0,
    start: toOffset(-1),
    end: toOffset(9),
    cursor,
    horizon: cursor,
    status: 'open',
    note: '',
    noteSinceMs: 0,
    lost: [],
    passed: [],
    parked: [],
    counters: { ...NO_COUNTS, ok: cursor + 1n },
    owner: '',
    token: '',
    leaseUntilMs: 0,
    notBeforeMs: 0,
    version: 1n,
    ...fields,
  };
}

/** A job over (-1, 9] whose checkpoints are these ranges. */
function jobWith(checkpoints: readonly RangeState[], fields: Partial<JobState> = {}): LiveJob {
  const state = sampleState({ pin: samplePin([[-1n, 9n]]), ...fields });
  const records: readonly RangeCheckpoint[] = checkpoints.map((each) => checkpointOf(state.jobId, each, 0n));
  const book = new JobBook({
    states: new Map([[state.jobId, state]]),
    checkpoints: new Map([[state.jobId, records]]),
    endedRanges: new Map(),
    series: new Map(),
    position: undefined,
    epoch: undefined,
  });
  const job = book.live(state.jobId);
  if (job === undefined) throw new Error('the job is not live');
  return job;
}

const look = (job: LiveJob, ranges: readonly RangeState[], mode: JobMode = 'running') =>
  inspect(job, { mode, ranges }, options);

describe('a look at a job in the store', () => {
  it('without change there is nothing to write and nothing to do', () => {
    expect(look(jobWith([range()]), [range()])).toEqual({
      kind: 'looked',
      changed: [],
      next: { kind: 'go on' },
      hasMoved: false,
      faults: [],
    });
  });

  it('writes whole ranges that moved', () => {
    const moved = range({ cursor: toOffset(4), horizon: toOffset(6), version: 5n });
    const answer = look(jobWith([range()]), [moved]);
    expect(answer.kind === 'looked' && answer.changed).toEqual([checkpointOf('job-1', moved, BigInt(NOW_MS))]);
  });

  it('P8: a store that is empty, behind a checkpoint, or misses a range is not believed', () => {
    const job = jobWith([range({ cursor: toOffset(4), version: 3n })]);
    expect(inspect(job, undefined, options).kind).toBe('restore');
    expect(look(job, [range({ cursor: toOffset(3), version: 9n })]).kind).toBe('restore');
    expect(look(job, [range({ cursor: toOffset(4), version: 2n })]).kind).toBe('restore');
    expect(look(job, []).kind).toBe('restore');
  });

  it('P7: a verdict of loss below an acknowledged checkpoint is not believed', () => {
    const job = jobWith([range({ cursor: toOffset(4), version: 3n })]);
    const lost = [{ first: toOffset(0), last: toOffset(3) }];
    expect(look(job, [range({ status: 'stopped', note: 'offsets lost', lost, version: 4n })]).kind).toBe('restore');
  });

  it('ends the job when every range is closed, and not before', () => {
    const cut = [range({ end: toOffset(4) }), range({ start: toOffset(4), cursor: toOffset(4), counters: NO_COUNTS })];
    const job = jobWith(cut);
    const first = range({ end: toOffset(4), cursor: toOffset(4), status: 'done', version: 2n });
    const second = range({
      start: toOffset(4),
      cursor: toOffset(9),
      status: 'done',
      counters: { ...NO_COUNTS, markers: 5n },
    });
    expect(look(job, [first, cut[1] ?? first])).toMatchObject({ next: { kind: 'go on' } });
    expect(look(job, [first, { ...second, version: 2n }])).toMatchObject({
      next: { kind: 'end', outcome: { kind: 'completed', reason: 'clean' } },
      faults: [],
    });
  });

  it('P10: says once, when a range closes, that its numbers do not add up', () => {
    const closed = range({ cursor: toOffset(9), status: 'done', counters: { ...NO_COUNTS, ok: 9n }, version: 2n });
    const answer = look(jobWith([range()]), [closed]);
    expect(answer).toMatchObject({ next: { kind: 'end', outcome: { reason: 'numbers do not add up' } } });
    expect(answer.kind === 'looked' && answer.faults[0]).toContain('misses 1');
    expect(look(jobWith([closed]), [closed])).toMatchObject({ faults: [] });
  });

  it('suspends when an open transaction holds a range longer than the deadline, counted from the last resume', () => {
    const waiting = (sinceMs: number) => [
      range({ note: 'waiting: open transaction at 5', noteSinceMs: sinceMs, version: 2n }),
    ];
    const job = jobWith([range()]);
    expect(look(job, waiting(NOW_MS - 59_000))).toMatchObject({ next: { kind: 'go on' } });
    expect(look(job, waiting(NOW_MS - 61_000))).toMatchObject({
      next: { kind: 'suspend', reason: 'open transaction at 5 in partition 0' },
    });
    const resumed = { ...job, state: { ...job.state, runningSinceMs: BigInt(NOW_MS - 1_000) } };
    expect(look(resumed, waiting(NOW_MS - 61_000))).toMatchObject({ next: { kind: 'go on' } });
  });

  it('suspends when a breaker is open for longer than the deadline', () => {
    const waiting = (sinceMs: number) => [
      range({ note: 'waiting: breaker billing', noteSinceMs: sinceMs, version: 2n }),
    ];
    const job = jobWith([range()]);
    expect(look(job, waiting(NOW_MS - 59_000))).toMatchObject({ next: { kind: 'go on' } });
    expect(look(job, waiting(NOW_MS - 61_000))).toMatchObject({
      next: { kind: 'suspend', reason: 'breaker billing in partition 0' },
    });
    // Workers that cannot even take a range say so of the job.
    const said = (sinceMs: number) =>
      inspect(
        job,
        { mode: 'running', ranges: [range()] },
        { ...options, breakerWait: { dependency: 'billing', sinceMs } },
      );
    expect(said(NOW_MS - 59_000)).toMatchObject({ next: { kind: 'go on' } });
    expect(said(NOW_MS - 61_000)).toMatchObject({ next: { kind: 'suspend', reason: 'breaker billing' } });
  });

  it('does not suspend for what one worker cannot reach while others bring the job on', () => {
    const breakerWait = { dependency: 'billing', sinceMs: NOW_MS - 61_000 };
    const moved = range({ cursor: toOffset(4), horizon: toOffset(4), version: 2n });
    const answer = inspect(jobWith([range()]), { mode: 'running', ranges: [moved] }, { ...options, breakerWait });
    expect(answer).toMatchObject({ next: { kind: 'go on' }, hasMoved: true });
  });

  it('suspends a job that used up what it may, counted from its start, and not what a resume raised', () => {
    const request = sampleRequest({ deadLettersMax: 2n });
    const three = [range({ counters: { ...NO_COUNTS, deadLettered: 3n }, cursor: toOffset(2), version: 2n })];
    expect(look(jobWith([range()], { request }), three)).toMatchObject({
      next: { kind: 'suspend', reason: 'dead letters: 3, the job allows 2' },
    });
    const raised = jobWith([range()], { request, deadLettersMax: 3n });
    expect(look(raised, three)).toMatchObject({ next: { kind: 'go on' } });
    const budget = { secondsMax: 100n, chunksMax: 0n, failuresMax: 0n };
    expect(look(jobWith([range()], { budget }), [range()])).toMatchObject({
      next: { kind: 'suspend', reason: 'budget: 100 seconds of running, the job may use up 100' },
    });
  });

  it('suspends for a record that used up its attempts when its range is given back, and lets it be tried anew after that', () => {
    const given = range({ note: 'suspend: record 3 failed: boom', token: 'a', version: 7n });
    const job = jobWith([range()]);
    const held = { owner: 'w', leaseUntilMs: NOW_MS + 1_000 };
    expect(look(job, [given])).toMatchObject({
      next: { kind: 'suspend', reason: 'record 3 failed: boom in partition 0' },
    });
    // What suspended the job is in its last checkpoints; after the resume the note stands there until somebody works on it.
    const resumed = jobWith([given]);
    expect(look(resumed, [given])).toMatchObject({ next: { kind: 'go on' } });
    expect(look(resumed, [{ ...given, ...held, version: 8n }])).toMatchObject({ next: { kind: 'go on' } });
    expect(look(resumed, [{ ...given, ...held, token: 'b', version: 8n }])).toMatchObject({ next: { kind: 'go on' } });
    const failedAgain = { ...given, token: 'b', version: 9n };
    expect(look(resumed, [failedAgain])).toMatchObject({ next: { kind: 'suspend' } });
    // A look while it was tried anew makes no difference, and what is forgiven after that is forgiven still.
    const seenWhileHeld = jobWith([{ ...given, ...held, token: 'b', version: 8n }]);
    expect(look(seenWhileHeld, [failedAgain])).toMatchObject({ next: { kind: 'suspend' } });
    expect(look(jobWith([failedAgain]), [failedAgain])).toMatchObject({ next: { kind: 'go on' } });
  });

  it('does not suspend a resumed job once more because a range with the old note was cut, or restored and cut', () => {
    const note = 'suspend: record 3 failed: boom';
    const given = range({ note, token: 'a', version: 7n });
    const child = range({ start: toOffset(6), cursor: toOffset(6), counters: NO_COUNTS, version: 1n });
    for (const token of ['a', '']) {
      const cut = { ...given, token, end: toOffset(6), version: 8n };
      expect(look(jobWith([given]), [cut, child])).toMatchObject({ next: { kind: 'go on' } });
    }
  });

  it('suspends when what is being handled is settled, or when that takes too long', () => {
    const budget = { secondsMax: 0n, chunksMax: 1n, failuresMax: 0n };
    const job = jobWith([range()], { budget });
    const spent = range({ cursor: toOffset(2), counters: { ...NO_COUNTS, ok: 3n, chunks: 1n }, version: 2n });
    const held = { ...spent, owner: 'w', leaseUntilMs: NOW_MS + 5_000 };
    const settling = (settlingSinceMs: number, mode: JobMode = 'draining') =>
      inspect(job, { mode, ranges: [held] }, { ...options, settlingSinceMs });
    expect(look(job, [held])).toMatchObject({ next: { kind: 'let settle' } });
    expect(settling(NOW_MS - 29_999)).toMatchObject({ next: { kind: 'let settle' } });
    expect(settling(NOW_MS - 30_000)).toMatchObject({ next: { kind: 'suspend' } });
    expect(settling(NOW_MS, 'halted')).toMatchObject({ next: { kind: 'suspend' } });
    expect(look(job, [spent], 'draining')).toMatchObject({ next: { kind: 'suspend' } });
  });

  it('P8: writes no part of a cut range without the others while a suspension for one of them waits', () => {
    // (-1, 9] was cut at 4 and at 6 since the last checkpoint; the last part failed, another one is held.
    const done = range({ end: toOffset(4), cursor: toOffset(4), status: 'done', version: 4n });
    const held = { owner: 'w', leaseUntilMs: NOW_MS + 5_000 };
    const busy = range({ start: toOffset(4), cursor: toOffset(4), end: toOffset(6), counters: NO_COUNTS, ...held });
    const note = 'suspend: record 7 failed: boom';
    const failed = range({ start: toOffset(6), cursor: toOffset(6), counters: NO_COUNTS, note, version: 3n });
    const answer = look(jobWith([range()]), [done, busy, failed]);
    expect(answer).toMatchObject({ next: { kind: 'let settle' }, changed: [] });
    const settled = { ...busy, owner: '', leaseUntilMs: 0 };
    const suspended = look(jobWith([range()]), [done, settled, failed]);
    expect(suspended).toMatchObject({ next: { kind: 'suspend' } });
    expect(suspended.kind === 'looked' && suspended.changed).toHaveLength(3);
  });

  it('brings a job into the mode that its durable state says', () => {
    expect(look(jobWith([range()]), [range()], 'halted')).toMatchObject({ next: { kind: 'align' } });
    expect(look(jobWith([range()]), [range()], 'draining')).toMatchObject({ next: { kind: 'align' } });
    const held = [range({ owner: 'w', leaseUntilMs: NOW_MS + 1_000 })];
    const pausing = jobWith([range()], { state: 'PAUSING', deadlineAtMs: BigInt(NOW_MS + 1) });
    expect(look(pausing, held, 'running')).toMatchObject({ next: { kind: 'align' } });
    expect(look(pausing, held, 'draining')).toMatchObject({ next: { kind: 'go on' } });
  });

  it.each(['PAUSING', 'CANCELLING'])('%s: waits for ranges that are held, at most until the deadline', (state) => {
    const job = jobWith([range()], { state, deadlineAtMs: BigInt(NOW_MS + 1) });
    const held = range({ owner: 'w', leaseUntilMs: NOW_MS + 1 });
    expect(look(job, [held], 'draining')).toMatchObject({ next: { kind: 'go on' } });
    expect(look(job, [range()], 'draining')).toMatchObject({ next: { kind: 'halt' } });
    expect(look(job, [{ ...held, leaseUntilMs: NOW_MS }], 'draining')).toMatchObject({ next: { kind: 'halt' } });
    const over = jobWith([range()], { state, deadlineAtMs: BigInt(NOW_MS) });
    expect(look(over, [held], 'draining')).toMatchObject({
      next: { kind: 'halt', how: '1 ranges that are still being handled are not waited for' },
    });
  });

  it('a job whose ranges all close while it is being paused has ended, and one that is being cancelled is cancelled', () => {
    const done = range({ cursor: toOffset(9), status: 'done', version: 2n });
    expect(look(jobWith([range()], { state: 'PAUSING' }), [done], 'draining')).toMatchObject({ next: { kind: 'end' } });
    const cancelling = jobWith([range()], { state: 'CANCELLING' });
    expect(look(cancelling, [done], 'draining')).toMatchObject({ next: { kind: 'halt' } });
  });

  it('writes a range that was split off together with the one that it was cut from', () => {
    const parent = range({ end: toOffset(4), version: 2n });
    const child = range({ start: toOffset(4), cursor: toOffset(4), counters: NO_COUNTS, version: 0n });
    const answer = look(jobWith([range()]), [parent, child]);
    expect(answer.kind === 'looked' && answer.changed.map(({ start }) => start)).toEqual([-1n, 4n]);
  });

  it('P8: a store that does not know a range with a checkpoint went back', () => {
    const parent = range({ end: toOffset(4) });
    const child = range({ start: toOffset(4), cursor: toOffset(4), counters: NO_COUNTS });
    // What is left would tile the window, too.
    expect(look(jobWith([parent, child]), [range({ version: 2n })])).toMatchObject({ kind: 'restore' });
  });

  it('parked records are part of the checkpoint, with the times at which they are due', () => {
    const parked = [{ offset: toOffset(2), attempt: 3, dueAtMs: NOW_MS + 5, faultClass: 'timeout', keyHash: 'ab' }];
    const counters = { ...NO_COUNTS, ok: 4n, parked: 1n };
    const moved = range({ cursor: toOffset(4), counters, parked, version: 2n });
    const answer = look(jobWith([range()]), [moved]);
    expect(answer.kind === 'looked' && answer.changed[0]?.parked).toEqual([
      { ...parked[0], dueAtMs: BigInt(NOW_MS + 5) },
    ]);
    expect(answer.kind === 'looked' && answer.changed.map(rangeOfCheckpoint)[0]?.parked).toEqual(parked);
  });

  it('believes no sequence of cursors that goes back, and every one that does not', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1, max: 8 }), fc.integer({ min: -1, max: 8 }), (known, seen) => {
        const job = jobWith([range({ cursor: toOffset(known), version: 3n })]);
        const kind = look(job, [range({ cursor: toOffset(seen), version: 4n })]).kind;
        expect(kind).toBe(seen < known ? 'restore' : 'looked');
      }),
    );
  });
});
