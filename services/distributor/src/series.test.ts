/** The rules of series on the in-memory twins; what they need of real services is in testing/series-scenarios.ts. */
import type { JobState, SeriesState } from '@tidemark/contracts';
import { ErrorClass, TidemarkError, toOffset } from '@tidemark/keyspace';
import { waitFor } from '@tidemark/testkit';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Step } from './steps.ts';
import { floorsOf, placeOf } from './testing/floor-scenarios.ts';
import { createMemoryParts, type MemoryParts } from './testing/memory-parts.ts';
import { Rig } from './testing/rig.ts';
import { firstRange, numbers } from './testing/scenario-looks.ts';
import { runNow, seriesFloors, windowsOf } from './testing/series-scenarios.ts';

let parts: MemoryParts;
let rig: Rig;
let topic: string;

beforeEach(async () => {
  parts = createMemoryParts();
  rig = new Rig(parts);
  topic = await parts.newTopic(2);
});
afterEach(() => rig.close());

const active = ({ status }: SeriesState): boolean => status === 'ACTIVE';
const stopped = ({ status }: SeriesState): boolean => status === 'STOPPED';
const idle = ({ liveRun }: SeriesState): boolean => liveRun === '';

async function finish(jobId: string): Promise<JobState> {
  await rig.settleAll(jobId);
  return rig.ended(jobId);
}

describe('the chain', () => {
  it('tiles the log, whatever is written between and during the runs', async () => {
    await rig.start();
    await rig.createSeries('chain', { topic, from: 'earliest' });
    const batches = fc.sample(
      fc.tuple(fc.integer({ min: 0, max: 1 }), fc.integer({ min: 0, max: 5 }), fc.boolean()),
      { numRuns: 25, seed: 7 }, // a sample names no seed when it finds something
    );
    const windows: (readonly [number, bigint, bigint])[] = [];
    let runs = 0n;
    for (const [partition, count, isDuring] of batches) {
      if (!isDuring) await rig.produce(topic, partition, numbers(count));
      const order = await rig.orderSeries('chain', 'run');
      const state = await rig.seriesState(
        'chain',
        ({ orderIds, lookedAtMs, dueAtMs }) => orderIds.includes(order) && lookedAtMs > 0n && dueAtMs > Date.now(),
      );
      if (isDuring) await rig.produce(topic, partition, numbers(count));
      if (state.runs === runs) continue;
      runs = state.runs;
      windows.push(...windowsOf(await finish(`chain-${runs}`)));
      await rig.seriesState('chain', idle);
    }
    const { partitions } = await rig.seriesState('chain');
    for (const partition of [0, 1]) {
      const own = windows.filter(([of]) => of === partition);
      expect(own.map(([, start]) => start)).toEqual([-1n, ...own.map(([, , end]) => end)].slice(0, own.length));
      expect(partitions[partition]?.end).toBe(own.at(-1)?.[2] ?? -1n);
    }
  });

  it('what is missed while no distributor runs, or a run is live, is one run', async () => {
    let skippedMs = 0;
    const nowMs = (): number => Date.now() + skippedMs;
    await rig.produce(topic, 0, numbers(10));
    const before = await rig.start({ nowMs });
    await rig.createSeries('hourly', { topic }, { everyMs: 3_600_000n });
    const { createdAtMs } = await rig.seriesState('hourly', active);
    await before.stop('a test');
    skippedMs = 5 * 3_600_000 + 60_000;
    await rig.start({ nowMs });
    const { dueAtMs } = await rig.seriesState('hourly', ({ runs }) => runs === 1n);
    expect(dueAtMs).toBe(createdAtMs + 6n * 3_600_000n);
    await rig.produce(topic, 0, numbers(3));
    skippedMs += 4 * 3_600_000;
    await finish('hourly-1');
    await rig.seriesState('hourly', ({ runs }) => runs === 2n);
    expect(windowsOf(await finish('hourly-2'))[0]).toEqual([0, 9n, 12n]);
    expect(await rig.seriesState('hourly', idle)).toMatchObject({ runs: 2n, dueAtMs: createdAtMs + 10n * 3_600_000n });
  });

  it('a clock that is set back does not keep a series from running until it is there again', async () => {
    const aheadMs = 30 * 86_400_000;
    let skewMs = aheadMs;
    const nowMs = (): number => Date.now() + skewMs;
    await rig.start({ nowMs });
    await rig.createSeries('early', { topic });
    await rig.seriesState('early', active);
    await rig.orderSeries('early', 'run');
    await rig.seriesState('early', ({ lookedAtMs }) => lookedAtMs > 0n);
    skewMs = 0;
    const next = await rig.seriesState('early', ({ dueAtMs }) => dueAtMs <= Date.now() + 3_600_000);
    expect(next).toMatchObject({ status: 'ACTIVE', runs: 0n });
    expect(next.dueAtMs > Date.now()).toBe(true);
    await rig.produce(topic, 0, numbers(1));
    skewMs = 3_600_000;
    await rig.seriesState('early', ({ runs }) => runs === 1n);
    expect(await rig.kinds('series:early')).toContain('SeriesRescheduled');
  });

  it('a clock that is set back by a little changes nothing', async () => {
    let skewMs = 20_000;
    await rig.start({ nowMs: () => Date.now() + skewMs });
    await rig.createSeries('steady', { topic }, { everyMs: 1_000n });
    await rig.seriesState('steady', ({ lookedAtMs }) => lookedAtMs > 0n);
    skewMs = 0;
    await rig.produce(topic, 0, numbers(1));
    await rig.createSeries('after', { topic });
    await runNow(rig, 'after', 1n);
    expect(await rig.kinds('series:steady')).not.toContain('SeriesRescheduled');
  });

  it('an empty window makes no job, and the time moves on', async () => {
    await rig.start();
    await rig.produce(topic, 0, numbers(4));
    await rig.createSeries('quiet', { topic, from: 'now' });
    await seriesFloors(rig, topic, [4n, 0n]);
    await rig.orderSeries('quiet', 'run');
    const looked = await rig.seriesState('quiet', ({ lookedAtMs }) => lookedAtMs > 0n);
    expect(looked).toMatchObject({ runs: 0n, liveRun: '', status: 'ACTIVE', partitions: [{ end: 3n }, { end: -1n }] });
    expect(looked.dueAtMs > looked.lookedAtMs).toBe(true);
    expect((await rig.jobLog.states()).size).toBe(0);
  });

  it('a job that has the id of the next run is left alone', async () => {
    await rig.start();
    await rig.produce(topic, 0, numbers(1));
    await rig.request({ topic, jobId: 'taken-1' });
    await rig.createSeries('taken', { topic });
    expect(await runNow(rig, 'taken', 2n)).toBe('taken-2');
  });
});

describe('floors', () => {
  it('follow a run when it is accepted, not when it is pinned', async () => {
    await rig.produce(topic, 0, numbers(10));
    const { frozen, release } = await rig.startFrozenAt('job.committed');
    await rig.createSeries('held', { topic });
    await seriesFloors(rig, topic, [0n, 0n]);
    await rig.orderSeries('held', 'run');
    await frozen;
    // The store is lost before the run is accepted: whoever fills it knows that the series still holds the window.
    await parts.loseStore();
    const seen: unknown[] = [];
    await rig.start({
      onStep: async (step) => {
        if (step === 'job.confirmed')
          seen.push(...((await floorsOf(rig, topic))[0] ?? []).filter(({ holder }) => holder !== 'held-1'));
      },
    });
    expect(seen).toEqual([{ holder: 'series:held', offset: 0n }]);
    release();
    await seriesFloors(rig, topic, [10n, 0n]);
    expect(await rig.state('held-1', 'RUNNING')).toMatchObject({ reason: '' });
  });

  it('of a deleted series are none, and the guard may cut there, also when the store was lost since', async () => {
    await rig.start();
    await rig.createSeries('past', { topic });
    await seriesFloors(rig, topic, [0n, 0n]);
    await rig.orderSeries('past', 'delete');
    await seriesFloors(rig, topic, [undefined, undefined]);
    await parts.loseStore();
    await rig.start();
    for (const partition of [0, 1]) {
      const place = { ...(await placeOf(rig, topic)), partition };
      await waitFor('the place to be filled', async () => (await parts.floors.look(place)) !== undefined);
      expect(await parts.floors.look(place)).toMatchObject({ floors: [] });
    }
  });

  it('of a stopped series are kept, and put back when somebody removes them', async () => {
    await rig.start();
    await rig.produce(topic, 0, numbers(10));
    await rig.createSeries('kept', { topic });
    await rig.command(await runNow(rig, 'kept', 1n), 'cancel');
    await rig.seriesState('kept', stopped);
    await seriesFloors(rig, topic, [10n, 0n]);
    await parts.loseStore();
    await seriesFloors(rig, topic, [10n, 0n]);
  });
});

describe('a run that does not complete', () => {
  it('stops the series, which is resumed behind it', async () => {
    await rig.start();
    await rig.produce(topic, 0, numbers(10));
    await rig.createSeries('careful', { topic });
    await rig.command(await runNow(rig, 'careful', 1n), 'cancel', { reason: 'wrong handler' });
    expect(await rig.seriesState('careful', stopped)).toMatchObject({
      reason: 'RUN_DID_NOT_COMPLETE: run careful-1 ended as CANCELLED: wrong handler',
      partitions: [{ end: 9n }, { end: -1n }],
    });
    const refused = await rig.orderSeries('careful', 'run');
    expect(await rig.seriesState('careful', ({ orderIds }) => orderIds.includes(refused))).toMatchObject({ runs: 1n });
    await rig.produce(topic, 0, numbers(2));
    await rig.orderSeries('careful', 'resume');
    await rig.seriesState('careful', active);
    expect(windowsOf(await finish(await runNow(rig, 'careful', 2n)))[0]).toEqual([0, 9n, 11n]);
    expect((await rig.kinds('series:careful')).filter((kind) => !kind.startsWith('SeriesRun'))).toEqual([
      'SeriesCreated',
      'SeriesStopped',
      'SeriesOrderRefused',
      'SeriesResumed',
    ]);
  });

  it('a window with loss stops it, too', async () => {
    await rig.start();
    await rig.produce(topic, 0, numbers(10));
    await rig.createSeries('lossy', { topic });
    const jobId = await runNow(rig, 'lossy', 1n);
    const lost = [{ first: toOffset(0), last: toOffset(9) }];
    await rig.leave(jobId, await firstRange(rig, jobId), { note: 'offsets lost', lost, stop: true });
    expect((await rig.seriesState('lossy', stopped)).reason).toContain('lossy-1 ended as UNRECOVERABLE: offsets lost');
  });

  it.each([
    ['recreated', 'TOPIC_RECREATED', () => void parts.cluster.recreateTopic(topic)],
    ['deleted', 'TOPIC_NOT_FOUND', () => parts.cluster.deleteTopic(topic)],
  ])('on a topic that was %s it says what to do, and no resume heals it', async (_, code, change) => {
    await rig.start();
    await rig.produce(topic, 0, numbers(10));
    await rig.createSeries('orphan', { topic });
    await rig.seriesState('orphan', active);
    change();
    await rig.orderSeries('orphan', 'run');
    const { reason, partitions } = await rig.seriesState('orphan', stopped);
    expect(reason).toContain(`run orphan-1 ended as REFUSED: ${code}: topic ${topic}`);
    expect(reason).toContain('tidemark series delete orphan');
    expect(partitions).toEqual([
      { partition: 0, end: -1n },
      { partition: 1, end: -1n },
    ]);
    const resume = await rig.orderSeries('orphan', 'resume');
    expect(await rig.seriesState('orphan', ({ orderIds }) => orderIds.includes(resume))).toMatchObject({
      status: 'STOPPED',
    });
  });

  it('a run that cannot be written stops its series, and nothing else', async () => {
    const { frozen, release } = await rig.startFrozenAt('job.before-commit');
    await rig.produce(topic, 0, numbers(10));
    await rig.createSeries('large', { topic });
    await rig.orderSeries('large', 'run');
    await frozen;
    const refused = { code: 'RECORD_REFUSED', class: ErrorClass.data, message: 'the record is too large' };
    parts.cluster.faults.failNext('commit', new TidemarkError(refused));
    release();
    expect(await rig.seriesState('large', stopped)).toMatchObject({
      reason: 'NOT_STORABLE: its next run could not be written: the record is too large',
      runs: 0n,
    });
    await rig.state(await rig.request({ topic }), 'RUNNING');
  });

  it('records that somebody else removed between two runs are no part of the chain', async () => {
    await rig.start();
    await rig.produce(topic, 0, numbers(10));
    await rig.createSeries('gap', { topic });
    await rig.seriesState('gap', active);
    await parts.cluster.catalog.deleteRecordsBefore(await placeOf(rig, topic), toOffset(4));
    await rig.orderSeries('gap', 'run');
    expect((await rig.seriesState('gap', stopped)).reason).toContain('RECORDS_GONE: offsets 0 to 3 of partition 0');
    await rig.createSeries('skipping', { topic, onLost: 'skip' });
    await runNow(rig, 'skipping', 1n);
  });

  it('records that are skipped because they are gone are in the audit trail, also when nothing else was new', async () => {
    await rig.start();
    await rig.produce(topic, 0, numbers(10));
    await rig.createSeries('skipping', { topic, onLost: 'skip' });
    await rig.seriesState('skipping', active);
    await parts.cluster.catalog.deleteRecordsBefore(await placeOf(rig, topic), toOffset(10));
    await rig.orderSeries('skipping', 'run');
    await rig.seriesState('skipping', ({ partitions: [first] }) => first?.end === 9n);
    await rig.produce(topic, 0, numbers(10));
    await parts.cluster.catalog.deleteRecordsBefore(await placeOf(rig, topic), toOffset(14));
    await runNow(rig, 'skipping', 1n);
    const skipped = (await rig.events('series:skipping')).filter(({ kind }) => kind === 'SeriesRecordsSkipped');
    expect(skipped.map(({ reason }) => reason)).toEqual([
      'offsets 0 to 9 of partition 0 were removed by somebody else',
      'offsets 10 to 13 of partition 0 were removed by somebody else',
    ]);
  });
});

describe('a kill of all', () => {
  it('stops every series, and no run begins until a resume; a run that was killed with it comes first', async () => {
    let skippedMs = 0;
    await rig.start({ nowMs: () => Date.now() + skippedMs });
    await rig.produce(topic, 0, numbers(5));
    await rig.createSeries('live', { topic });
    const run = await runNow(rig, 'live', 1n);
    await rig.state(run, 'RUNNING');
    await rig.createSeries('idle', { topic });
    await rig.seriesState('idle', active);
    const commandId = await rig.command('*', 'kill', { reason: 'bad deploy' });
    const killed = { status: 'STOPPED', reason: 'killed: bad deploy', orderIds: expect.arrayContaining([commandId]) };
    expect(await rig.seriesState('live', stopped)).toMatchObject({ ...killed, liveRun: run });
    expect(await rig.seriesState('idle', stopped)).toMatchObject({ ...killed, liveRun: '' });
    await rig.state(run, 'PAUSED');
    skippedMs = 5 * 3_600_000;
    // A series of after the kill is not meant, and its run shows that all were looked at.
    await rig.createSeries('later', { topic });
    await finish(await runNow(rig, 'later', 1n));
    expect([...(await rig.jobLog.states()).keys()].sort()).toEqual(['later-1', 'live-1']);
    // Given again because its answer was lost.
    await rig.orderSeries('idle', 'resume');
    await rig.command('*', 'kill', { commandId, reason: 'bad deploy' });
    await rig.seriesState('idle', ({ runs, status }) => runs === 1n && status === 'ACTIVE');
    await rig.orderSeries('live', 'resume');
    await rig.seriesState('live', active);
    await rig.command(run, 'resume');
    await rig.letRun(run);
    await finish(run);
    await rig.seriesState('live', ({ liveRun, lookedAtMs }) => liveRun === '' && lookedAtMs > 0n);
    expect((await rig.kinds('series:live')).filter((kind) => !kind.startsWith('SeriesRun'))).toEqual([
      'SeriesCreated',
      'SeriesStopped',
      'SeriesResumed',
    ]);
  });

  it('that was interrupted between jobs and series is finished by the next one, and stops no series that was resumed since', async () => {
    const first = await rig.startFrozenAt('kill.series-stopped');
    await rig.produce(topic, 0, numbers(5));
    const jobId = await rig.request({ topic });
    await rig.state(jobId, 'RUNNING');
    await rig.createSeries('chain', { topic });
    await rig.seriesState('chain', active);
    await rig.command('*', 'kill');
    await first.frozen;
    await rig.seriesState('chain', stopped);
    await rig.orderSeries('chain', 'resume');
    await rig.start();
    await rig.state(jobId, 'PAUSED');
    await rig.seriesState('chain', active);
    first.release();
    await first.distributor.ended;
    await finish(await runNow(rig, 'chain', 1n));
    expect((await rig.kinds('series:chain')).filter((kind) => kind === 'SeriesStopped')).toHaveLength(1);
  });
});

describe('creating', () => {
  it('the same again is the same, other content is refused, and after delete the numbers go on', async () => {
    await rig.start();
    await rig.produce(topic, 0, numbers(1));
    await rig.createSeries('same', { topic });
    await runNow(rig, 'same', 1n);
    const other = await rig.createSeries('same', { topic, handler: 'republish' });
    expect(await rig.seriesState('same', ({ orderIds }) => orderIds.includes(other))).toMatchObject({
      status: 'ACTIVE',
      definition: { request: { handler: 'count' } },
    });
    await rig.createSeries('same', { topic, requestedBy: 'somebody else' });
    await rig.orderSeries('same', 'delete');
    await rig.seriesState('same', ({ status }) => status === 'DELETED');
    await rig.createSeries('same', { topic });
    await rig.seriesState('same', active);
    expect(await runNow(rig, 'same', 2n)).toBe('same-2');
    expect((await rig.kinds('series:same')).filter((kind) => kind === 'SeriesCreated')).toHaveLength(2);
    // The run that was live when it was deleted goes on by itself.
    expect(await finish('same-1')).toMatchObject({ state: 'COMPLETED' });
  });

  it.each([
    ['on a topic that is not there', { topic: 'nowhere' }, {}, /^TOPIC_NOT_FOUND: topic nowhere does not exist/],
    ['with a bad cron', {}, { cron: '61 * * * *', everyMs: 0n }, /^INVALID_SERIES: cron field 1 \(minute\) "61"/],
    ['in a bad zone', {}, { cron: '* * * * *', zone: 'Mars', everyMs: 0n }, /^INVALID_SERIES: zone "Mars"/],
    ['with an end', { to: '0:5' }, {}, /^INVALID_SERIES: to "0:5": every run/],
    ['from offsets in some partitions', { from: '1:0' }, {}, /^INVALID_SERIES: from "1:0" names 1 of 2 partitions/],
    ['with a bad request', { attempts: 0 }, {}, /^INVALID_SERIES: attempts 0 is not between/],
  ])('%s is refused', async (_, request, schedule, reason) => {
    await rig.start();
    await rig.createSeries('bad', { topic, ...request }, schedule);
    expect(await rig.seriesState('bad')).toMatchObject({ status: 'REFUSED', reason: expect.stringMatching(reason) });
    await rig.createSeries('bad', { topic });
    await rig.seriesState('bad', active);
  });

  it('nobody but the distributor makes runs', async () => {
    await rig.start();
    const state = await rig.ended(await rig.request({ topic, series: 'mine' }));
    expect(state.reason).toContain('only the distributor requests the runs of a series');
  });
});

describe('killed anywhere', () => {
  const steps: readonly Step[] = [
    'pin.ends-read',
    'pin.reserved',
    'job.before-commit',
    'job.committed',
    'job.confirmed',
    'job.accepted',
    'job.installed',
  ];
  it.each(steps)('at %s of a run: the next distributor goes on exactly', async (step) => {
    await rig.produce(topic, 0, numbers(5));
    const before = await rig.start();
    await rig.createSeries('exact', { topic });
    await rig.seriesState('exact', active);
    await before.stop('a test');
    const first = await rig.startFrozenAt(step);
    await rig.orderSeries('exact', 'run');
    await first.frozen;
    await rig.start();
    await finish('exact-1');
    await rig.seriesState('exact', ({ runs, liveRun }) => runs === 1n && liveRun === '');
    first.release();
    await first.distributor.ended;
    await rig.produce(topic, 0, numbers(2));
    const windows = [await rig.ended('exact-1'), await finish(await runNow(rig, 'exact', 2n))].map(windowsOf);
    expect(windows.map(([window]) => window)).toEqual([
      [0, -1n, 4n],
      [0, 4n, 6n],
    ]);
    await seriesFloors(rig, topic, [7n, 0n]);
  });

  it('at series.committed: the floors are there', async () => {
    const first = await rig.startFrozenAt('series.committed');
    await rig.createSeries('young', { topic });
    await first.frozen;
    for (const partition of [0, 1])
      await parts.floors.drop({ place: { ...(await placeOf(rig, topic)), partition }, holder: 'series:young' });
    await rig.start();
    await seriesFloors(rig, topic, [0n, 0n]);
    first.release();
  });

  it('at series.deleted: nothing is held any more', async () => {
    // Between what is decided and what is written the clock may tick.
    let ticks = 0;
    const first = await rig.startFrozenAt('series.deleted', { nowMs: () => Date.now() + ticks++ });
    await rig.createSeries('old', { topic });
    await seriesFloors(rig, topic, [0n, 0n]);
    await rig.orderSeries('old', 'delete');
    await first.frozen;
    await rig.start();
    await waitFor('nothing to be held', async () => (await floorsOf(rig, topic)).flat().length === 0);
    first.release();
  });
});
