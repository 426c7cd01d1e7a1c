import type { SeriesState } from '@tidemark/contracts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ORDER_IDS_MAX } from './limits.ts';
import { chainFault, endsAfter, neededBySeries, removedBetween } from './series-chain.ts';
import { definitionFaults, isSameSeries, runRequest } from './series-definition.ts';
import { isKilledSeries, lastingFault, moveSeries, type SeriesTransition } from './series-state.ts';
import { sampleDefinition, samplePin, sampleRequest, sampleSeries } from './testing/index.ts';

const time = { atMs: 1_700_000_000_500n, actor: 'distributor' };
const by = (orderId: string) => ({ orderId, reason: 'go', actor: 'ann' });
const definition = sampleDefinition();
const partitions = [{ partition: 0, end: 99n }];
const created: SeriesTransition = {
  kind: 'created',
  definition,
  topicId: 'topic-id-1',
  partitions,
  dueAtMs: 1n,
  ...by('c-1'),
};
const begun: SeriesTransition = {
  kind: 'begun',
  jobId: 'nightly-1',
  number: 1n,
  partitions: [{ partition: 0, end: 120n }],
  dueAtMs: 2n,
  skipped: '',
};

function moved(state: SeriesState | undefined, event: SeriesTransition): SeriesState {
  const answer = moveSeries(state, event, time);
  if (answer.kind !== 'moved') throw new Error(`${event.kind}: ${answer.kind}`);
  return answer.state;
}

describe('the states of a series', () => {
  it('one run at a time, and its ends move when it begins', () => {
    const live = moved(moved(undefined, created), begun);
    expect(live).toMatchObject({ runs: 1n, liveRun: 'nightly-1', partitions: [{ end: 120n }], dueAtMs: 2n });
    expect(moveSeries(live, { ...begun, jobId: 'nightly-2', number: 2n }, time)).toMatchObject({ kind: 'refused' });
    const done = moved(live, { kind: 'ended', phase: 'COMPLETED', reason: 'clean' });
    expect(done).toMatchObject({ status: 'ACTIVE', liveRun: '', partitions: [{ end: 120n }] });
  });

  it.each(['CANCELLED', 'UNRECOVERABLE', 'REFUSED', 'UNKNOWN'])('a run that ends as %s stops it', (phase) => {
    const live = moved(sampleSeries(), begun);
    const stopped = moved(live, { kind: 'ended', phase, reason: 'why' });
    expect(stopped).toMatchObject({ status: 'STOPPED', liveRun: '', partitions: [{ end: 120n }] });
    expect(stopped.reason).toBe(`RUN_DID_NOT_COMPLETE: run nightly-1 ended as ${phase}: why`);
    expect(moveSeries(stopped, begun, time).kind).toBe('refused');
    expect(moved(stopped, { kind: 'resumed', ...by('r-1') })).toMatchObject({ status: 'ACTIVE', reason: '' });
  });

  it('what no resume heals is refused with the reason', () => {
    const reason = 'RUN_DID_NOT_COMPLETE: run nightly-1 ended as REFUSED: TOPIC_RECREATED: topic orders was deleted';
    const answer = moveSeries(sampleSeries({ status: 'STOPPED', reason }), { kind: 'resumed', ...by('r-1') }, time);
    expect(answer).toMatchObject({ kind: 'refused', reason: expect.stringContaining('TOPIC_RECREATED') });
    expect(lastingFault('RUN_DID_NOT_COMPLETE: run x-1 ended as CANCELLED: enough')).toBeUndefined();
  });

  it('an order to run makes it due at once, and only while it is active', () => {
    expect(moved(sampleSeries(), { kind: 'run', ...by('o-1') }).dueAtMs).toBe(time.atMs);
    for (const status of ['STOPPED', 'DELETED', 'REFUSED', 'OF_TOMORROW'])
      expect(moveSeries(sampleSeries({ status }), { kind: 'run', ...by('o-1') }, time).kind).toBe('refused');
    expect(moveSeries(undefined, { kind: 'run', ...by('o-1') }, time)).toMatchObject({ reason: 'no such series' });
  });

  it('an order id is answered once, also when it was refused, and a bounded number is remembered', () => {
    const refused = moveSeries(sampleSeries({ status: 'STOPPED' }), { kind: 'run', ...by('o-1') }, time);
    expect(refused).toMatchObject({ kind: 'refused', state: { status: 'STOPPED', orderIds: ['o-1'] } });
    let state = sampleSeries();
    for (let id = 0; id <= ORDER_IDS_MAX; id++) state = moved(state, { kind: 'run', ...by(`o-${id}`) });
    expect(state.orderIds).toHaveLength(ORDER_IDS_MAX);
    expect(moveSeries(state, { kind: 'deleted', ...by(`o-${ORDER_IDS_MAX}`) }, time).kind).toBe('same');
  });

  it('the same again is the same, other content is refused, and a name that is free again counts on', () => {
    const state = moved(undefined, created);
    const again = { ...created, ...by('c-2') };
    expect(moveSeries(state, again, time)).toEqual({ kind: 'same', state });
    const other = { ...again, definition: { ...definition, everyMs: 1_000n } };
    expect(moveSeries(state, other, time)).toMatchObject({ kind: 'refused', reason: /other content/ });
    const deleted = moved(moved(state, begun), { kind: 'deleted', ...by('d-1') });
    expect(deleted).toMatchObject({ status: 'DELETED', liveRun: '' });
    expect(moved(deleted, other)).toMatchObject({ status: 'ACTIVE', runs: 1n });
    const refused = moved(undefined, { kind: 'refused', definition, fault: 'TOPIC_NOT_FOUND: x', ...by('c-1') });
    expect(refused).toMatchObject({ status: 'REFUSED', reason: 'TOPIC_NOT_FOUND: x', partitions: [] });
    expect(moved(refused, again).status).toBe('ACTIVE');
  });
});

describe('what a series asks for', () => {
  it('who sent it is not content, the schedule is', () => {
    const request = sampleRequest({ jobId: 'nightly', requestedBy: 'bob' });
    expect(isSameSeries(definition, { ...definition, request })).toBe(true);
    expect(isSameSeries(definition, { ...definition, zone: 'Europe/Berlin' })).toBe(false);
    expect(isSameSeries(definition, { ...definition, request: { ...request, rate: 1 } })).toBe(false);
  });

  it('that is killed is stopped with its live run, once, and goes on with that', () => {
    const killed = {
      kind: 'killed',
      isAhead: false,
      orderId: 'k-1',
      reason: 'RECORDS_GONE: no, a bad deploy',
      actor: 'tester',
    } as const;
    const running = sampleSeries({ liveRun: 'nightly-1', runs: 1n });
    const stopped = moveSeries(running, killed, { atMs: 7n, actor: 'tester' });
    if (stopped.kind !== 'moved') throw new Error(stopped.kind);
    expect(stopped.state).toMatchObject({
      status: 'STOPPED',
      reason: `killed: ${killed.reason}`,
      liveRun: 'nightly-1',
    });
    expect(stopped.events).toMatchObject([{ kind: 'SeriesStopped', actor: 'tester' }]);
    expect([isKilledSeries(stopped.state), lastingFault(stopped.state.reason)]).toEqual([true, undefined]);
    expect(moveSeries(stopped.state, { ...killed, orderId: 'k-2' }, { atMs: 8n, actor: 'tester' })).toEqual({
      kind: 'moved',
      state: { ...stopped.state, orderIds: [...stopped.state.orderIds, 'k-2'] },
      events: [],
    });
    const ahead = { ...killed, orderId: 'k-3', isAhead: true };
    expect(moveSeries(stopped.state, ahead, { atMs: 8n, actor: 'tester' }).kind).toBe('same');
    expect(moveSeries(running, ahead, { atMs: 8n, actor: 'tester' })).toMatchObject({
      state: { status: 'STOPPED', orderIds: running.orderIds },
    });
    const by = { orderId: 'r-1', reason: '', actor: 'tester' };
    const resumed = moveSeries(stopped.state, { kind: 'resumed', ...by }, { atMs: 9n, actor: 'tester' });
    expect(resumed.state).toMatchObject({ status: 'ACTIVE', reason: '', liveRun: 'nightly-1' });
    // The same order once more, because its answer was lost.
    expect(moveSeries(resumed.state, killed, { atMs: 10n, actor: 'tester' }).kind).toBe('same');
  });

  it('all faults are told at once', () => {
    const request = sampleRequest({ jobId: 'nightly', to: '0:5', attempts: 0, series: 'x' });
    expect(definitionFaults('a b', { ...definition, request, everyMs: 0n })).toEqual([
      expect.stringContaining('the name "a b" of a series must be'),
      expect.stringContaining('series "x": only the distributor'),
      expect.stringContaining('attempts 0'),
      expect.stringContaining('every 0 ms'),
      'the request of series a b is one of "nightly"',
      expect.stringContaining('to "0:5": every run of a series ends where the log ends'),
    ]);
    expect(definitionFaults('x'.repeat(101), definition)[0]).toContain('at most 100');
  });

  it('a run begins right after the last end, and at the beginning of what no run has seen', () => {
    const run = runRequest({ definition, partitions }, { jobId: 'nightly-4', partitionCount: 3 });
    expect(run).toMatchObject({ jobId: 'nightly-4', from: '0:100,1:0,2:0', to: 'now', series: 'nightly' });
    expect([neededBySeries(partitions, 0), neededBySeries(partitions, 7)]).toEqual([100n, 0n]);
  });
});

describe('the chain', () => {
  it('joins whatever is pinned, and nothing else', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt(0n, 9n), { minLength: 1, maxLength: 20 }), (growths) => {
        let ends = [{ partition: 0, end: -1n }];
        for (const growth of growths) {
          const [{ end } = { end: 0n }] = ends;
          const pin = samplePin([[end, end + growth]]);
          expect(chainFault(ends, pin, 'stop')).toBeUndefined();
          ends = endsAfter(ends, pin);
        }
        expect(ends[0]?.end).toBe(growths.reduce((sum, growth) => sum + growth, -1n));
      }),
    );
  });

  it('a gap is told unless the series may skip it, and a log that went back always', () => {
    expect(chainFault(partitions, samplePin([[104n, 120n]]), 'stop')).toMatch(/^RECORDS_GONE: offsets 100 to 104 of/);
    expect(chainFault(partitions, samplePin([[104n, 120n]]), 'skip')).toBeUndefined();
    expect(removedBetween(partitions, samplePin([[104n, 120n]]))).toMatch(/^offsets 100 to 104 of partition 0 were/);
    expect(removedBetween(partitions, samplePin([[99n, 120n]]))).toBe('');
    expect(removedBetween([], samplePin([[104n, 120n]]))).toBe('');
    expect(chainFault(partitions, samplePin([[80n, 80n]]), 'skip')).toMatch(/^LOG_WENT_BACK: partition 0 ends at 80/);
    expect(chainFault([], samplePin([[4n, 9n]]), 'stop')).toBeUndefined();
  });

  it('a partition that the pin does not show keeps its end', () => {
    expect(endsAfter([{ partition: 3, end: 7n }], samplePin([[-1n, 4n]]))).toEqual([
      { partition: 0, end: 4n },
      { partition: 3, end: 7n },
    ]);
  });
});
