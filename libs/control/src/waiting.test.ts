import type { JobState } from '@tidemark/contracts';
import type { RangeState } from '@tidemark/cursors';
import { exhaustedNote, openTransactionNote, waitingNote } from '@tidemark/jobs';
import { sampleRequest, sampleState } from '@tidemark/jobs/testing';
import { describe, expect, it } from 'vitest';
import { type Crew, describeWaiting, WaitKind, waitingOfJob, waitingOfRanges } from './waiting.ts';

const NOW_MS = 1_700_000_100_000;
const RUNNING = sampleState();

function range(fields: Partial<RangeState> = {}) {
  return { status: 'open' as const, note: '', noteSinceMs: 0, owner: '', leaseUntilMs: 0, ...fields };
}

function waitingOfRange(one: ReturnType<typeof range>, state: JobState, seen: Crew) {
  return waitingOfRanges([one], state, seen)[0];
}

const HELD = { owner: 'w1/0', leaseUntilMs: NOW_MS + 5_000 };

function crew(fields: Partial<Crew> = {}): Crew {
  const handlers = [{ name: 'count', idempotent: true }];
  const worker = { workerId: 'w1', host: 'here', pid: 7, handlers, atMs: NOW_MS - 4_000 };
  return { storeNowMs: NOW_MS, workers: [worker], hints: new Map(), ...fields };
}

function withHandlers(...handlers: readonly { readonly name: string; readonly idempotent: boolean }[]): Crew {
  return crew({ workers: crew().workers.map((worker) => ({ ...worker, handlers })) });
}

const hinting = (reason: string): Crew => crew({ hints: new Map([['job-1', { reason }]]) });

describe('a range that somebody holds', () => {
  it.each([
    [openTransactionNote(17n), WaitKind.openTransaction, 'the open transaction at 17 to end'],
    [waitingNote.rate, WaitKind.rate, 'its turn at the rate limit'],
    [waitingNote.backoff, WaitKind.backoff, 'the next attempt of its parked records'],
    [waitingNote.parkedFull, WaitKind.parkedFull, 'room: as many records are parked as may be'],
    [waitingNote.breaker('sms gateway'), WaitKind.breaker, 'sms gateway, whose breaker is open'],
    [waitingNote.breaker('two\nlines'), WaitKind.breaker, 'two\nlines, whose breaker is open'],
    ['waiting: kafka', WaitKind.broker, 'the broker, which does not answer'],
    [
      exhaustedNote(5n, 'no such user'),
      WaitKind.distributor,
      'the distributor to suspend the job: record 5 failed: no such user',
    ],
    ['a word of tomorrow', WaitKind.other, 'a word of tomorrow'],
  ])('and notes %j waits for %s, since it said so', (note, kind, reason) => {
    const wait = waitingOfRange(range({ ...HELD, note, noteSinceMs: NOW_MS - 12_000 }), RUNNING, crew());
    expect(wait).toEqual({ kind, reason, sinceMs: NOW_MS - 12_000 });
    expect(wait && describeWaiting(wait, NOW_MS)).toBe(`${reason}, for 12 s`);
  });

  it('is not timed for a moment', () => {
    const wait = waitingOfRange(range({ ...HELD, note: waitingNote.rate, noteSinceMs: NOW_MS - 999 }), RUNNING, crew());
    expect(wait && describeWaiting(wait, NOW_MS)).toBe('its turn at the rate limit');
  });

  it('without a word is worked on, whoever else is alive', () => {
    expect(waitingOfRange(range(HELD), RUNNING, crew({ workers: [] }))).toBeUndefined();
  });

  it('is waited for by another worker when its lease has run out', () => {
    const expired = range({ owner: 'w1/0', leaseUntilMs: NOW_MS - 3_000 });
    expect(waitingOfRange(expired, RUNNING, crew())).toMatchObject({
      kind: WaitKind.takeover,
      sinceMs: NOW_MS - 3_000,
    });
    expect(waitingOfRange(expired, RUNNING, crew({ workers: [] }))).toMatchObject({ kind: WaitKind.noWorker });
  });
});

describe('a range that nobody holds', () => {
  const silent = crew().workers.map((worker) => ({ ...worker, atMs: NOW_MS - 15_001 }));
  const once = { name: 'count', idempotent: false };

  it.each<[why: string, crew: Crew, kind: WaitKind]>([
    ['without any worker', crew({ workers: [] }), WaitKind.noWorker],
    ['when every worker fell silent', crew({ workers: silent }), WaitKind.noWorker],
    ['when no worker has the handler', withHandlers({ name: 'other', idempotent: true }), WaitKind.noHandler],
    ['when the handler is not idempotent', withHandlers(once), WaitKind.notIdempotent],
    ['when workers were refused a permit', hinting('permit'), WaitKind.permit],
    ['when the breaker keeps workers away', hinting('breaker sms'), WaitKind.breaker],
    ['when nobody came by', crew(), WaitKind.turn],
    ['hides the permit behind the worker that is missing', { ...hinting('permit'), workers: [] }, WaitKind.noWorker],
  ])('%s', (_, seen, kind) => {
    expect(waitingOfRange(range(), RUNNING, seen)?.kind).toBe(kind);
  });

  it('of a job with as many ranges at work as it may have waits for a permit, whatever was said last', () => {
    const state = sampleState({ request: sampleRequest({ concurrency: 1 }) });
    const kinds = (one: ReturnType<typeof range>) =>
      waitingOfRanges([one, range()], state, crew()).map((wait) => wait?.kind);
    expect(kinds(range(HELD))).toEqual([undefined, WaitKind.permit]);
    expect(kinds(range({ status: 'done' }))).toEqual([undefined, WaitKind.turn]);
  });

  it('consent makes a handler that is not idempotent a handler', () => {
    const state = sampleState({ request: sampleRequest({ acceptDuplicates: true }) });
    expect(waitingOfRange(range(), state, withHandlers(once))?.kind).toBe(WaitKind.turn);
  });

  it('keeps what its last owner said', () => {
    const left = range({ note: waitingNote.backoff, noteSinceMs: NOW_MS - 1_000 });
    expect(waitingOfRange(left, RUNNING, hinting('permit'))).toMatchObject({ kind: WaitKind.backoff });
  });

  it('waits for nothing when it is closed, or when its job does not run', () => {
    expect(waitingOfRange(range({ status: 'done' }), RUNNING, crew())).toBeUndefined();
    expect(waitingOfRange(range({ status: 'stopped', note: 'lost' }), RUNNING, crew())).toBeUndefined();
    expect(waitingOfRange(range(), sampleState({ state: 'PAUSED' }), crew())).toBeUndefined();
  });
});

describe('a job', () => {
  it('waits for what most of its ranges wait for, as long as the first of them', () => {
    const slow = (sinceMs: number) => range({ ...HELD, note: waitingNote.rate, noteSinceMs: sinceMs });
    const ranges = [slow(NOW_MS - 2_000), slow(NOW_MS - 9_000), range({ ...HELD, note: waitingNote.breaker('x') })];
    expect(waitingOfJob(ranges, RUNNING, crew())).toMatchObject({ kind: WaitKind.rate, sinceMs: NOW_MS - 9_000 });
  });

  it('does not speak of a turn while some range waits for something else', () => {
    const ranges = [range(), range(), range({ ...HELD, note: waitingNote.rate })];
    expect(waitingOfJob(ranges, RUNNING, crew())).toMatchObject({ kind: WaitKind.rate });
  });

  it('waits for nothing while one range is worked on, and when all are closed', () => {
    expect(waitingOfJob([range(), range(HELD)], RUNNING, crew())).toBeUndefined();
    expect(waitingOfJob([range({ status: 'done' })], RUNNING, crew())).toBeUndefined();
  });

  it.each([
    ['REQUESTED', '', WaitKind.distributor, /a distributor/],
    ['PINNING', '', WaitKind.distributor, /a distributor/],
    ['PAUSED', 'lunch', WaitKind.person, /a person: lunch/],
    ['SUSPENDED', 'budget: 3 chunks', WaitKind.person, /a person: budget: 3 chunks/],
    ['PAUSING', '', WaitKind.drain, /chunks in flight of 1 range$/],
    ['CANCELLING', '', WaitKind.drain, /chunks in flight of 1 range$/],
  ])('that is %s waits for it since it is', (state, reason, kind, text) => {
    const wait = waitingOfJob([range(HELD), range()], sampleState({ state, reason }), crew());
    expect(wait).toMatchObject({ kind, reason: expect.stringMatching(text), sinceMs: 1_700_000_000_000 });
  });

  it('that the store does not hold waits for the distributor; one that is over waits for nothing', () => {
    expect(waitingOfJob(undefined, RUNNING, crew())).toMatchObject({ kind: WaitKind.distributor });
    expect(waitingOfJob(undefined, sampleState({ state: 'CANCELLED' }), crew())).toBeUndefined();
  });
});
