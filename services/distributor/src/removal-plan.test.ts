import type { JobState, SeriesState } from '@tidemark/contracts';
import { isHeld, isTerminal, JobPhase, runIdOf } from '@tidemark/jobs';
import { samplePin, sampleRequest, sampleSeries, sampleState } from '@tidemark/jobs/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { coveredBy, placeKey } from './needs.ts';
import { planRemoval, type RemovalFacts, type RemovalPlan } from './removal-plan.ts';

const NOW = 1_000_000;
const keeping = { endedMs: 1_000, runs: 3 };
const read = { throughMs: NOW, logStart: 100n };

/** COMPLETED, of an empty window, with a request that is gone from the log. */
function job(jobId: string, agoMs: number, fields: Partial<JobState> = {}): JobState {
  return sampleState({
    request: sampleRequest({ jobId }),
    state: JobPhase.completed,
    pin: samplePin([[9n, 9n]]),
    updatedAtMs: BigInt(NOW - agoMs),
    lastCommandOffset: 50n,
    ...fields,
  });
}

function run(series: string, number: number, agoMs: number, fields: Partial<JobState> = {}): JobState {
  const jobId = runIdOf(series, BigInt(number));
  // Where the requests stood when it began: no request of its own is there.
  return job(jobId, agoMs, { request: sampleRequest({ jobId, series }), lastCommandOffset: 5_000n, ...fields });
}

const ids = (plan: RemovalPlan): readonly string[] => plan.removable.map(({ state }) => state.jobId);
const plan = (states: readonly JobState[], facts: Partial<RemovalFacts> = {}): RemovalPlan =>
  planRemoval({ states, series: [], read, keeping, ...facts });

describe('a job', () => {
  it('goes when it has been over for longer than that, whoever ended first is first', () => {
    expect(ids(plan([job('young', 1_000), job('old', 1_001), job('oldest', 90_000)]))).toEqual(['oldest', 'old']);
    expect(plan([job('old', 1_001)]).removable).toMatchObject([{ isRun: false, why: 'it ended more than 1 s ago' }]);
  });

  it.each(
    Object.values(JobPhase)
      .filter((phase) => !isTerminal(phase))
      .concat('FOREIGN' as JobPhase),
  )('that is %s stays for ever', (state) => {
    expect(plan([job('open', 10 ** 5, { state })])).toEqual({ removable: [], witnesses: [] });
  });

  it('whose window is held for an audit stays, a run, too: without its state nobody would hold it', () => {
    const heldForAuditUntilMs = BigInt(NOW + 1);
    const crowd = [1, 5, 6, 7, 8].map((number) => run('s', number, 1, number === 1 ? { heldForAuditUntilMs } : {}));
    const states = [job('held', 10 ** 5, { heldForAuditUntilMs }), job('released', 10 ** 5), ...crowd];
    const series = [sampleSeries({ series: 's', runs: 8n })];
    expect([...ids(plan(states, { series }))].sort()).toEqual(['released', 's-5']);
  });

  it('stays as long as its request, or the last order to it, is in the log', () => {
    expect(
      ids(plan([job('there', 5_000, { lastCommandOffset: 100n }), job('gone', 5_000, { lastCommandOffset: 99n })])),
    ).toEqual(['gone']);
  });

  it('is counted by the time up to which requests were read, not by that of now', () => {
    const late = { ...read, throughMs: NOW - 4_000 };
    expect(ids(plan([job('a', 4_500), job('b', 5_001)], { read: late }))).toEqual(['b']);
  });

  it('that alone tells that a partition was read stays as a witness; the newest one does', () => {
    const pin = samplePin([
      [0n, 9n],
      [4n, 4n],
      [0n, 9n],
    ]);
    const older = job('older', 9_000, { pin });
    const newer = job('newer', 8_000, { pin: samplePin([[0n, 9n]]) });
    const both = plan([older, newer]);
    expect([ids(both), both.witnesses.map(({ state }) => state.jobId)]).toEqual([[], ['older', 'newer']]);
    const running = job('running', 0, { state: JobPhase.running, pin });
    expect(ids(plan([older, newer, running]))).toEqual(['older', 'newer']);
    const topicId = pin.topicId;
    const series = [
      sampleSeries({
        topicId,
        partitions: [
          { partition: 0, end: 9n },
          { partition: 2, end: 9n },
        ],
        definition: {
          request: sampleRequest({ jobId: 'nightly', topic: older.request.topic }),
          cron: '',
          zone: 'UTC',
          everyMs: 1n,
        },
      }),
    ];
    expect(ids(plan([older, newer], { series }))).toEqual(['older', 'newer']);
  });
});

describe('a run', () => {
  const series = [sampleSeries({ series: 's', runs: 9n })];

  it('goes when there are enough newer ones that have ended, whenever that was, and whatever the requests are', () => {
    const runs = [5, 6, 7, 8, 9].map((number) => run('s', number, 1));
    expect(ids(plan(runs, { series }))).toEqual(['s-6', 's-5'].sort());
    expect(plan(runs, { series }).removable[0]).toMatchObject({
      isRun: true,
      why: 'it is not among the newest 3 runs of its series that have ended',
    });
  });

  it('goes with its age, too; but not the last one of a series that has not been deleted', () => {
    const runs = [8, 9].map((number) => run('s', number, 5_000));
    expect(ids(plan(runs, { series }))).toEqual(['s-8']);
    for (const status of ['STOPPED', 'FOREIGN'])
      expect(ids(plan(runs, { series: [sampleSeries({ series: 's', runs: 9n, status })] }))).toEqual(['s-8']);
    expect(ids(plan(runs, { series: [sampleSeries({ series: 's', runs: 9n, status: 'DELETED' })] }))).toEqual([
      's-8',
      's-9',
    ]);
  });

  it('that its series takes for live stays, although it has ended', () => {
    const live = [sampleSeries({ series: 's', runs: 20n, liveRun: 's-1' })];
    const runs = [1, 2, 3, 4, 5].map((number) => run('s', number, 5_000));
    expect(ids(plan(runs, { series: live }))).toEqual(['s-2', 's-3', 's-4', 's-5']);
  });

  it('of a series that nobody knows is a job like others, and so is one that only has such a name', () => {
    const runs = [1, 2, 3, 4, 5].map((number) => run('s', number, 1));
    expect(ids(plan(runs))).toEqual([]);
    const claimed = [11, 12, 13, 14].map((number) => run('s', number, 1));
    expect(ids(plan([...[7, 8, 9].map((number) => run('s', number, 1)), ...claimed], { series }))).toEqual([]);
    const named = [1, 2, 3, 4, 5].map((number) => job(`s-${number}`, 1));
    expect(ids(plan(named, { series }))).toEqual([]);
  });
});

describe('whatever there is', () => {
  const phases = [...Object.values(JobPhase), 'FOREIGN'];
  const stateOf = fc.record({
    name: fc.constantFrom('', 'a', 'b', 'unknown'),
    number: fc.integer({ min: 1, max: 12 }),
    phase: fc.constantFrom(...phases),
    agoMs: fc.integer({ min: 0, max: 3_000 }),
    offset: fc.bigInt({ min: 0n, max: 200n }),
    windows: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
    topicId: fc.constantFrom('topic-1', 'topic-2'),
  });
  const seriesOf = (name: string) =>
    fc
      .record({
        status: fc.constantFrom('ACTIVE', 'STOPPED', 'DELETED', 'FOREIGN'),
        runs: fc.bigInt({ min: 12n, max: 13n }),
        live: fc.option(fc.integer({ min: 1, max: 12 })),
      })
      .map(({ status, runs, live }) =>
        sampleSeries({
          series: name,
          status,
          runs,
          liveRun: live === null ? '' : runIdOf(name, BigInt(live)),
          partitions: [],
        }),
      );
  const worlds = fc
    .tuple(fc.array(stateOf, { maxLength: 30 }), seriesOf('a'), seriesOf('b'))
    .map(([drawn, ...series]): { states: readonly JobState[]; series: readonly SeriesState[] } => {
      const states = new Map<string, JobState>();
      for (const { name, number, phase, agoMs, offset, windows, topicId } of drawn) {
        const jobId = `${name === '' ? 'job' : name}-${number}`;
        const pin = { ...samplePin(windows.map((isEmpty) => [0n, isEmpty ? 0n : 5n])), topicId };
        const request = sampleRequest({ jobId, series: name });
        states.set(
          jobId,
          sampleState({ request, state: phase, pin, updatedAtMs: BigInt(NOW - agoMs), lastCommandOffset: offset }),
        );
      }
      return { states: [...states.values()], series };
    });

  it('nothing goes that is open, young, in the log, or needed; and of each partition somebody who read it is left', () => {
    fc.assert(
      fc.property(worlds, ({ states, series }) => {
        const { removable, witnesses } = plan(states, { series });
        const gone = new Set(removable.map(({ state }) => state.jobId));
        for (const { state, isRun } of removable) {
          expect(isTerminal(state.state)).toBe(true);
          const of = series.find((each) => each.series === state.request.series);
          expect(isRun).toBe(of !== undefined);
          if (of === undefined) {
            expect(BigInt(NOW) - state.updatedAtMs > 1_000n).toBe(true);
            expect(state.lastCommandOffset < read.logStart).toBe(true);
            continue;
          }
          expect(state.jobId).not.toBe(of.liveRun);
          if (isHeld(of)) expect(state.jobId).not.toBe(runIdOf(of.series, of.runs));
          const numberOf = (each: JobState): number => Number(each.jobId.split('-')[1]);
          const newer = states.filter(
            (each) => each.request.series === of.series && isTerminal(each.state) && numberOf(each) > numberOf(state),
          );
          expect(BigInt(NOW) - state.updatedAtMs > 1_000n || newer.length >= keeping.runs).toBe(true);
        }
        const places = (jobs: readonly JobState[]) =>
          new Set(jobs.flatMap(coveredBy).map(({ place }) => placeKey(place)));
        expect(places(states.filter(({ jobId }) => !gone.has(jobId)))).toEqual(places(states));
        expect(witnesses.length).toBeLessThanOrEqual(places(states).size);
      }),
    );
  });

  it('what is left is bounded: of each series some runs, and else what is young, open or there', () => {
    fc.assert(
      fc.property(worlds, ({ states, series }) => {
        const { removable, witnesses } = plan(states, { series });
        const spared = new Set([...removable, ...witnesses].map(({ state }) => state.jobId));
        const left = states.filter(({ jobId, state }) => isTerminal(state) && !spared.has(jobId));
        for (const of of series)
          expect(left.filter(({ request }) => request.series === of.series).length).toBeLessThanOrEqual(
            keeping.runs + 2,
          );
        for (const state of left)
          if (!series.some((of) => of.series === state.request.series))
            expect(BigInt(NOW) - state.updatedAtMs <= 1_000n || state.lastCommandOffset >= read.logStart).toBe(true);
      }),
    );
  });

  it('when that is gone nothing more goes at the same moment, but a witness that another one has made needless', () => {
    fc.assert(
      fc.property(worlds, ({ states, series }) => {
        const first = plan(states, { series });
        const gone = new Set(ids(first));
        const second = plan(
          states.filter(({ jobId }) => !gone.has(jobId)),
          { series },
        );
        const spared = new Set(first.witnesses.map(({ state }) => state.jobId));
        for (const jobId of ids(second)) expect(spared).toContain(jobId);
      }),
    );
  });
});
