/** Each view against its schema and its meaning. */
import type { JobState } from '@tidemark/contracts';
import { NO_COUNTS, toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { DOWN, jobState, known, NOW_MS, present, rangeState, sightOf, WORKER, workOf } from '../testing/sights.ts';
import { jobDetailView } from './job-detail.ts';
import { jobsView } from './jobs.ts';
import { lagView } from './lag.ts';
import { relayView } from './relay.ts';
import { retentionView } from './retention.ts';
import * as schemas from './schemas.ts';
import { snapshotView } from './snapshot.ts';
import { servicesView } from './status.ts';
import { workersView } from './workers.ts';

const NAMES = { namespace: 'test', relay: 'main' };
const LEASE = { owner: 'w1/0', leaseUntilMs: NOW_MS + 4_000 };

/** 100 offsets: 30 settled, 20 in flight, 10 waiting, 40 in a range that was stopped at once. */
const RANGES = [
  rangeState({ start: -1, end: 59, cursor: 29, horizon: 49, ...LEASE }),
  rangeState({ start: 59, end: 99, cursor: 59, status: 'stopped', note: 'OFFSETS_LOST: 60-70' }),
];
const RUNNING = sightOf({
  states: [jobState({})],
  work: known(workOf({ workers: [WORKER], ranges: new Map([['job-1', RANGES]]) })),
  ends: known(new Map([['orders', present('orders', [0, 170])]])),
});

describe('a job under way', () => {
  it('every offset of it is settled, in flight, waiting or stopped', () => {
    expect(jobsView(RUNNING).jobs[0]).toMatchObject({
      progress: { offsetsTotal: '100', offsetsDone: '30', percent: 30, perSecond: null, etaSeconds: null },
      share: { settled: '30', inFlight: '20', waiting: '10', stopped: '40' },
      ranges: { total: 2, done: 0, working: 1, waiting: 0, expired: 0, stopped: 1 },
    });
  });

  it('P1: keys that waited unsent at its pin are counted and named', () => {
    const state = jobState({});
    const unsent = [{ key: 'o-1', position: 7n, reason: 'too large' }];
    const pin = state.pin && { ...state.pin, unsentKeys: 3n, unsent };
    const detail = jobDetailView(RUNNING, { ...state, pin }, { source: 'store', ranges: RANGES });
    schemas.jobDetail.parse(detail);
    expect([detail.unsentKeys, detail.unsent]).toEqual(['3', [{ key: 'o-1', position: '7', reason: 'too large' }]]);
  });

  it('what the log keeps for its audit, and what a guard gave up of its floor, is told', () => {
    const of = (fields: Partial<JobState>) => {
      const detail = jobDetailView(RUNNING, { ...jobState({}), ...fields }, { source: 'store', ranges: RANGES });
      schemas.jobDetail.parse(detail);
      return [detail.heldForAudit, detail.releasedFloors];
    };
    expect(of({})).toEqual([null, []]);
    expect(of({ heldForAuditUntilMs: -1n })).toEqual([{ until: null }, []]);
    const releasedFloors = [{ partition: 0, ofAudit: true, fromOffset: 5n, atMs: 1_000n }];
    expect(of({ heldForAuditUntilMs: 2_000n, releasedFloors })).toEqual([
      { until: '1970-01-01T00:00:02.000Z' },
      [expect.stringMatching(/^1970-01-01T00:00:01.000Z: .* in partition 0 from 5 on \(for its audit\)/)],
    ]);
  });

  it('its ranges tell owner, lease and whether they add up', () => {
    const detail = jobDetailView(RUNNING, jobState({}), { source: 'store', ranges: RANGES });
    schemas.jobDetail.parse(detail);
    expect(detail.rangeRows[0]).toMatchObject({ status: 'working', owner: 'w1/0', leaseSecondsLeft: 4, addsUp: true });
    expect(detail.rangeRows[1]).toMatchObject({
      status: 'stopped',
      leaseSecondsLeft: null,
      note: 'OFFSETS_LOST: 60-70',
    });
    expect(detail.identity).toMatchObject({ span: '30', counted: '30', addsUp: true });
    expect(detail.window).toMatchObject([{ partition: 0, start: '-1', end: '99', settledUpTo: '29' }]);
  });

  it('numbers that do not add up are said to', () => {
    const ranges = [rangeState({ start: -1, end: 99, cursor: 29, counters: { ...NO_COUNTS, ok: 12n } })];
    const detail = jobDetailView(RUNNING, jobState({}), { source: 'store', ranges });
    expect(detail.identity).toMatchObject({ span: '30', counted: '12', addsUp: false });
    expect(detail.rangeRows[0]?.addsUp).toBe(false);
  });

  it('B1: what it lost so far is named exactly, and what was only counted is told apart', () => {
    const lost = { ...NO_COUNTS, ok: 10n, lost: 20n };
    const passed = [{ first: toOffset(10), last: toOffset(24) }];
    const ranges = [rangeState({ start: -1, end: 99, cursor: 29, counters: lost, passed })];
    const detail = jobDetailView(RUNNING, jobState({}), { source: 'store', ranges });
    schemas.jobDetail.parse(detail);
    expect(detail.lost).toEqual([{ partition: 0, first: '10', last: '24' }]);
    expect(detail.lostUnplaced).toBe('5');
  });

  it('a lease that ran out is no work', () => {
    const ranges = [rangeState({ start: -1, end: 99, cursor: 29, owner: 'w1/0', leaseUntilMs: NOW_MS - 1 })];
    const detail = jobDetailView(RUNNING, jobState({}), { source: 'store', ranges });
    expect(detail.rangeRows[0]).toMatchObject({ status: 'lease expired', leaseSecondsLeft: 0, perSecond: null });
  });

  it('says what it waits for, since when, and what can be done', () => {
    const seen = (options: Parameters<typeof workOf>[0], state = jobState({})) => {
      const view = jobsView(sightOf({ states: [state], work: known(workOf(options)) }));
      schemas.jobs.parse(view);
      return view.jobs[0];
    };
    const held = rangeState({ start: -1, end: 9, cursor: 2, ...LEASE });
    const ranges = new Map([['job-1', [held]]]);
    const note = 'waiting: open transaction at 3';
    const waiting = new Map([['job-1', [{ ...held, note, noteSinceMs: NOW_MS - 7_000 }]]]);
    expect(seen({ ranges, workers: [WORKER] })).toMatchObject({ waiting: null, hint: '' });
    expect(seen({ ranges: waiting, workers: [WORKER] })).toMatchObject({
      waiting: { kind: 'open transaction', reason: 'the open transaction at 3 to end', seconds: 7 },
    });
    const free = new Map([['job-1', [rangeState({ start: -1, end: 99, cursor: 29 })]]]);
    expect(seen({ ranges: free })).toMatchObject({
      waiting: { kind: 'no worker', seconds: null },
      hint: '"tidemark worker --handlers FILE" runs one.',
    });
    expect(seen({ ranges: free, workers: [WORKER], hints: new Map([['job-1', { reason: 'permit' }]]) })).toMatchObject({
      waiting: { kind: 'permit' },
    });
    expect(seen({ workers: [WORKER], followed: new Set(['job-1']) })).toMatchObject({
      waiting: { kind: 'distributor' },
    });
    // One of many jobs whose ranges nobody asked for: nobody can say.
    expect(seen({ workers: [WORKER] })).toMatchObject({ waiting: null, parked: null, budget: null });
    expect(seen({}, jobState({ state: 'SUSPENDED', reason: 'open transaction' }))).toMatchObject({
      waiting: { kind: 'person', reason: 'a person: open transaction', seconds: 60 },
      hint: '"tidemark job resume job-1" lets it go on.',
    });
  });

  it('tells what is used of its limits, and which of them must be raised', () => {
    const budget = { secondsMax: 0n, chunksMax: 4n, failuresMax: 0n };
    const counters = { ...NO_COUNTS, ok: 30n, chunks: 4n, retries: 9_007_199_254_740_993n };
    const ranges = new Map([['job-1', [rangeState({ start: -1, end: 99, cursor: 29, counters })]]]);
    const state = jobState({ budget, state: 'SUSPENDED', reason: 'budget: 4 chunks' });
    const [job] = jobsView(sightOf({ states: [state], work: known(workOf({ ranges })) })).jobs;
    expect(job).toMatchObject({
      retries: '9007199254740993',
      budget: [
        { name: 'seconds', used: '0', max: null, isUsedUp: false },
        { name: 'chunks', used: '4', max: '4', isUsedUp: true },
        { name: 'failures', used: '9007199254740993', max: null, isUsedUp: false },
        { name: 'dead letters', used: '0', max: '10000', isUsedUp: false },
      ],
      hint: '"tidemark job resume job-1 --max-chunks N" lets it go on.',
    });
  });
});

describe('parked records', () => {
  const record = (offset: number, attempt: number, dueInMs: number) => ({
    offset: toOffset(offset),
    attempt,
    dueAtMs: NOW_MS + dueInMs,
    faultClass: 'transient',
    keyHash: '',
  });
  const parked = [record(10, 0, 0), record(20, 3, 8_000), record(30, 4, 2_000)];
  const counters = { ...NO_COUNTS, ok: 97n, parked: 3n };
  const ranges = [rangeState({ start: -1, end: 99, cursor: 99, status: 'open', parked, counters })];
  const sight = sightOf({
    states: [jobState({})],
    work: known(workOf({ workers: [WORKER], ranges: new Map([['job-1', ranges]]) })),
    ends: known(new Map([['orders', present('orders', [0, 100])]])),
  });

  it('are passed and not settled: they end the prefix, and keep the job below 100 %', () => {
    const detail = jobDetailView(sight, jobState({}), { source: 'store', ranges });
    schemas.jobDetail.parse(detail);
    expect(detail).toMatchObject({
      parked: '3',
      progress: { offsetsDone: '97', percent: 97 },
      share: { settled: '97', parked: '3', inFlight: '0', waiting: '0', stopped: '0' },
      window: [{ settledUpTo: '9' }],
      identity: { span: '100', counted: '100', addsUp: true, counters: { parked: '3' } },
    });
    expect(detail.rangeRows[0]?.parked).toEqual({ records: 3, lowest: '10', nextDueSeconds: 2 });
  });

  it('L1: keep the partition from being caught up', () => {
    expect(lagView(sight).rows).toMatchObject([{ state: 'behind', cursor: '9', lagOffsets: '90' }]);
  });
});

describe('lag', () => {
  it('goes to the end of the log, beyond the window of the job', () => {
    const view = lagView(RUNNING);
    schemas.lag.parse(view);
    expect(view.rows).toMatchObject([
      { state: 'behind', cursor: '29', end: '99', highWatermark: '170', lagOffsets: '140', lagSeconds: null },
    ]);
    expect(view.sum).toEqual({ offsets: '140', isAtLeast: false, seconds: null, secondsIsAtLeast: true });
  });

  it('L1: with the broker down every figure of it is unknown, not zero and not negative', () => {
    const view = lagView({ ...RUNNING, ends: DOWN });
    expect(view.unknown).toBe('connection refused');
    expect(view.rows).toMatchObject([{ state: 'unknown', lagOffsets: null, highWatermark: null }]);
    expect(view.sum).toMatchObject({ offsets: null, isAtLeast: true });
  });

  it.each([
    ['is down', DOWN, 'connection refused'],
    [
      'was emptied',
      known(workOf({ followed: new Set(['job-1']) })),
      'The cursor store does not hold job job-1; the distributor fills it again.',
    ],
    ['was not asked for this job yet', known(workOf()), 'being looked up'],
  ])('L1: with a cursor store that %s the lag is unknown, with the reason', (_, work, reason) => {
    const sight = sightOf({ states: [jobState({})], work, ends: RUNNING.ends });
    const view = lagView(sight);
    schemas.lag.parse(view);
    expect(view.unknown).toBe(reason);
    expect(view.rows).toMatchObject([{ state: 'unknown', cursor: null, lagOffsets: null, highWatermark: '170' }]);
    expect(view.sum).toEqual({ offsets: null, isAtLeast: true, seconds: null, secondsIsAtLeast: true });
    expect(snapshotView(sight, NAMES).status).toMatchObject({ lagOffsets: null, lagIsAtLeast: true });
  });

  it('L1: without an active job the cursor store is not needed', () => {
    const states = [jobState({ state: 'COMPLETED', reason: 'clean' })];
    const view = lagView(sightOf({ states, work: DOWN, ends: RUNNING.ends }));
    expect(view).toMatchObject({ unknown: null, sum: { offsets: '70', isAtLeast: false } });
  });

  it('L1: without the states of jobs the sum is no exact zero', () => {
    expect(lagView({ ...sightOf({}), states: DOWN }).sum).toMatchObject({ offsets: null, isAtLeast: true });
  });

  it('L1: of more jobs than are asked for, the sum says "at least" and how many are left out', () => {
    const lost = jobState({ jobId: 'oldest', requestedAtMs: 1 });
    const work = known(workOf({ ranges: new Map([['job-1', RANGES]]), jobsOmitted: 1 }));
    const view = lagView(sightOf({ states: [jobState({}), lost], work, ends: RUNNING.ends }));
    expect(view).toMatchObject({ unknown: null, jobsOmitted: 1, sum: { offsets: '140', isAtLeast: true } });
    expect(view.rows).toMatchObject([{ jobId: 'job-1', state: 'behind', lagOffsets: '140', isAtLeast: true }]);
  });

  it('L1: a partition is not caught up while a job on it is unknown', () => {
    const work = known(workOf({ ranges: new Map([['job-1', [rangeState({ start: -1, end: 99, cursor: 99 })]]]) }));
    const ends = known(new Map([['orders', present('orders', [0, 100])]]));
    const view = lagView(sightOf({ states: [jobState({}), jobState({ jobId: 'lost' })], work, ends }));
    expect(view.rows).toMatchObject([{ state: 'unknown', lagOffsets: '0', isAtLeast: true }]);
  });

  it('a cursor is ahead of the log only when the log was asked after the cursor was answered', () => {
    const ends = known(new Map([['orders', present('orders', [0, 20])]]), NOW_MS - 500);
    const stateOf = (seen: Partial<typeof RUNNING>) => lagView({ ...RUNNING, ends, ...seen }).rows[0]?.state;
    const work = RUNNING.work.kind === 'known' ? RUNNING.work.value : workOf();
    expect(stateOf({ work: known(work, NOW_MS - 900, NOW_MS - 400) })).toBe('caught up');
    expect(stateOf({ work: known(work, NOW_MS - 900, NOW_MS - 600) })).toBe('cursor ahead of the log');
  });

  it('where a complete job ended is as old as the states that tell it', () => {
    const state = jobState({ state: 'COMPLETED', reason: 'clean' });
    const ends = known(new Map([['orders', present('orders', [0, 20])]]), NOW_MS - 500);
    const stateOf = (answeredAtMs: number, work: typeof RUNNING.work) => {
      const states = known(new Map([[state.jobId, state]]), NOW_MS - 900, answeredAtMs);
      return lagView(sightOf({ states: [state], work, ends, more: { states } })).rows[0]?.state;
    };
    expect(stateOf(NOW_MS - 400, known(workOf(), NOW_MS - 900))).toBe('caught up');
    expect(stateOf(NOW_MS - 600, DOWN)).toBe('cursor ahead of the log');
  });

  it('a topic that is gone or was made anew is named', () => {
    const stateWith = (ends: Parameters<typeof known>[0]) =>
      lagView({ ...RUNNING, ends: known(ends as ReadonlyMap<string, never>) }).rows[0];
    expect(stateWith(new Map([['orders', { kind: 'missing' }]]))).toMatchObject({
      state: 'topic missing',
      lagOffsets: null,
    });
    expect(stateWith(new Map([['orders', present('another id', [0, 5])]]))).toMatchObject({
      state: 'topic recreated',
      lagOffsets: null,
    });
  });
});

describe('retention', () => {
  const look = (floors: readonly { holder: string; offset: number; reservedUntilMs?: number }[]) =>
    known(
      new Map([
        [
          'orders/0',
          {
            life: '1',
            mark: toOffset(5),
            floors: floors.map(({ holder, offset, reservedUntilMs }) => ({
              holder,
              offset: toOffset(offset),
              reservedUntilMs,
            })),
          },
        ],
      ]),
    );

  it('the lowest floor holds, and a reservation that ran out does not', () => {
    const floors = look([
      { holder: 'b', offset: 40 },
      { holder: 'a', offset: 30 },
      { holder: 'gone', offset: 10, reservedUntilMs: NOW_MS - 1 },
      { holder: 'soon', offset: 35, reservedUntilMs: NOW_MS + 1 },
    ]);
    const view = retentionView({ ...RUNNING, floors });
    schemas.retention.parse(view);
    expect(view.rows[0]).toMatchObject({
      state: 'held',
      floor: '30',
      mark: '5',
      logStart: '0',
      heldOffsets: '140',
      margin: '30',
    });
    expect(view.rows[0]?.holders.map(({ holder, isReservation }) => [holder, isReservation])).toEqual([
      ['a', false],
      ['soon', true],
      ['b', false],
    ]);
  });

  it('tells free, cut, not filled and unknown apart', () => {
    const state = (floors: Parameters<typeof known>[0], ends = RUNNING.ends) =>
      retentionView({ ...RUNNING, ends, floors: known(floors as ReadonlyMap<string, undefined>) }).rows[0]?.state;
    expect(retentionView({ ...RUNNING, floors: look([]) }).rows[0]?.state).toBe('free');
    expect(state(new Map([['orders/0', undefined]]))).toBe('not filled');
    expect(state(new Map())).toBe('unknown');
    const cut = known(new Map([['orders', present('orders', [50, 170])]]));
    expect(retentionView({ ...RUNNING, ends: cut, floors: look([{ holder: 'a', offset: 30 }]) }).rows[0]).toMatchObject(
      {
        state: 'records removed',
        margin: '-20',
      },
    );
  });
});

describe('retention without the cursor store', () => {
  it('L1: is unknown with the reason, and its partitions stay in view', () => {
    const sight = sightOf({ states: [jobState({})], work: DOWN, ends: RUNNING.ends, more: { floors: DOWN } });
    expect(retentionView(sight)).toMatchObject({
      unknown: 'connection refused',
      rows: [{ topic: 'orders', state: 'unknown', floor: null, highWatermark: '170' }],
    });
  });
});

describe('workers', () => {
  it('counts leases by worker, and the silent ones as not alive', () => {
    const silent = { ...WORKER, workerId: 'w0', atMs: NOW_MS - 20_000 };
    const work = workOf({ workers: [silent, WORKER], ranges: new Map([['job-1', RANGES]]) });
    const view = workersView(sightOf({ work: known(work) }));
    schemas.workers.parse(view);
    expect(view.alive).toBe(1);
    expect(view.workers.map(({ workerId, state, ranges }) => [workerId, state, ranges])).toEqual([
      ['w1', 'alive', 1],
      ['w0', 'silent', 0],
    ]);
  });
});

describe('the relay', () => {
  const backlog = { rows: 3, isAtLeast: false, lagMs: 1_500 };
  const outbox = (more: object) =>
    known({ kind: 'installed' as const, publisher: 'r1', backlog, blockers: [], parked: [], ...more });

  it('tells who publishes and what waits', () => {
    const view = (more: object) => relayView({ ...RUNNING, outbox: outbox(more) }, 'main');
    expect(view({})).toMatchObject({ state: 'publishing', backlogRows: 3, lagSeconds: 1.5 });
    expect(view({ backlog: { rows: 0, isAtLeast: false, lagMs: null } })).toMatchObject({
      state: 'caught up',
      lagSeconds: 0,
    });
    expect(view({ publisher: undefined })).toMatchObject({ state: 'nobody publishes', publisher: null });
    expect(view({ backlog: undefined })).toMatchObject({ state: 'unknown', backlogRows: null, lagSeconds: null });
  });

  it('tells which keys wait and why, as many as a page shows', () => {
    const parked = (key: string) => ({
      topic: 'orders',
      key,
      position: 9_007_199_254_740_993n,
      table: '',
      type: 'x',
      bytes: 3_145_728n,
      reason: 'too large',
      parkedAtMs: 1n,
      triedAtMs: 2n,
      rows: 2,
    });
    const keys = Array.from({ length: 101 }, (_, i) => parked(`k${i}`));
    const view = relayView({ ...RUNNING, outbox: outbox({ parked: keys }) }, 'main');
    expect(view.hint).toContain('tidemark relay retry');
    expect(view).toMatchObject({ parkedOmitted: 1, state: 'publishing' });
    expect(view.parked).toHaveLength(100);
    expect(schemas.relay.parse(view).parked[0]).toEqual({
      topic: 'orders',
      key: 'k0',
      position: '9007199254740993',
      table: '',
      bytes: '3145728',
      rows: 2,
      reason: 'too large',
      parkedAt: '1970-01-01T00:00:00.001Z',
      triedAt: '1970-01-01T00:00:00.002Z',
    });
  });

  it('Postgres that is down and an outbox that was never installed are two things', () => {
    const reason = 'a right is missing: grant it';
    const unfit = { ...RUNNING, outbox: known({ kind: 'unfit' as const, reason }) };
    expect(relayView(unfit, 'main')).toMatchObject({ state: 'no outbox', unknown: null, hint: reason });
    expect(servicesView(unfit).find(({ name }) => name === 'Postgres')?.state).toBe('up');
    expect(relayView({ ...RUNNING, outbox: DOWN }, 'main')).toMatchObject({
      state: 'unknown',
      unknown: 'connection refused',
    });
    expect(servicesView({ ...RUNNING, outbox: DOWN }).find(({ name }) => name === 'Postgres')?.state).toBe('down');
  });
});

describe('a snapshot', () => {
  it('fits its schema whatever is down', () => {
    const down = { states: DOWN, work: DOWN, ends: DOWN, floors: DOWN, position: DOWN, outbox: DOWN, registry: DOWN };
    for (const part of [{}, ...Object.entries(down).map(([name, value]) => ({ [name]: value })), down])
      schemas.snapshot.parse(snapshotView({ ...RUNNING, ...part }, NAMES));
    expect(snapshotView({ ...RUNNING, ...down }, NAMES).status).toMatchObject({
      ready: false,
      jobs: null,
      workersAlive: null,
    });
  });
});
