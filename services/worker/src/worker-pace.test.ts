/** Who may work, on what and how fast, through whole workers on the in-memory parts. The pure rules are tested in `pace/`. */
import { createMemoryCodec } from '@tidemark/contracts/testing';
import { JobMode, type RangeState, type Schedule } from '@tidemark/cursors';
import { defineHandler, done } from '@tidemark/handlers';
import { encodeDefinition } from '@tidemark/jobs';
import { TidemarkError } from '@tidemark/keyspace';
import { waitFor } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { SLICE_CHUNKS } from './limits.ts';
import { jobDefinition } from './testing/job-definition.ts';
import { keptLog } from './testing/log-lines.ts';
import { type MemoryBench, memoryBench } from './testing/memory-worker.ts';
import { numbers, recordingHandler } from './testing/recording-handler.ts';
import { mortal, watched } from './testing/watched-store.ts';

const texts = (count: number): string[] => numbers(0, count - 1).map(String);
const down = (dependency: string) =>
  new TidemarkError({ code: 'DOWN', class: 'unavailable', message: `${dependency} is down`, context: { dependency } });

/** A topic whose partitions have so many records each. */
async function topicOf({ bench, partitions, records }: { bench: MemoryBench; partitions: number; records: number }) {
  bench.cluster.createTopic('t', { partitionCount: partitions });
  for (let partition = 0; partition < partitions; partition++) await bench.append('t', texts(records), partition);
}

const heldNow = (ranges: readonly RangeState[], nowMs: number): number =>
  ranges.filter(({ owner, leaseUntilMs }) => owner !== '' && leaseUntilMs > nowMs).length;

it('P6: an outage of the sink is probed by one chunk at a time, costs no attempt, and is told in a few lines', async () => {
  const bench = memoryBench();
  await topicOf({ bench, partitions: 6, records: 100 });
  const log = keptLog();
  let isDown = false;
  let calls = 0;
  let running = 0;
  let runningMost = 0;
  const notes = new Set<string>();
  const { handler, delivered } = recordingHandler(async () => {
    if (!isDown) return done();
    calls += 1;
    running += 1;
    runningMost = Math.max(runningMost, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    throw down('postgres');
  });
  let handled = 0;
  const { store } = watched(bench.store, (ranges, step) => {
    for (const { note } of ranges) notes.add(note);
    // Down as soon as every slot has handled something.
    if (step === 'advance' && ++handled === 12) isDown = true;
  });
  const job = await bench.install({ topic: 't', handler: handler.name, attempts: 1, chunkRecords: 5 });
  await bench.work([handler], { store, slots: 4, logger: log.logger });
  await waitFor('the breaker is open', () => log.said('breaker.opened').length > 0);
  const before = calls;
  running = 0;
  runningMost = 0;
  await waitFor('three probes', () => calls >= before + 3);
  expect(runningMost).toBe(1);
  isDown = false;
  const ranges = await job.closed();
  for (const range of ranges)
    expect(range).toMatchObject({ status: 'done', counters: { ok: 100n, retries: 0n, deadLettered: 0n, parked: 0n } });
  expect(notes).toContain('waiting: breaker postgres');
  expect(new Set(delivered).size).toBe(600);
  // A handful that were under way when it broke, then the probes.
  expect(calls).toBeLessThanOrEqual(4 + 12);
  expect(log.said('breaker.opened')).toMatchObject([{ handler: 'recording', dependency: 'postgres', level: 'warn' }]);
  expect(log.said('breaker.closed')).toHaveLength(1);
  expect(log.said('range.waiting')).toEqual([]);
  expect(log.lines.length).toBeLessThanOrEqual(60);
});

it('D5: an outage of the registry costs no record: all are delivered after it, and none is dead-lettered', async () => {
  const bench = memoryBench();
  await topicOf({ bench, partitions: 1, records: 100 });
  let asked = 0;
  const codec = createMemoryCodec();
  const failing = {
    ...codec,
    decodeCached: () => undefined,
    decode: async () => {
      asked += 1;
      if (asked > 50 && asked < 54) throw down('schema registry');
      return { value: {} } as Awaited<ReturnType<typeof codec.decode>>;
    },
  };
  const seen: bigint[] = [];
  const handler = defineHandler<object>({
    name: 'typed',
    input: 'avro',
    idempotent: true,
    handle: ({ offset }) => {
      seen.push(offset);
      return done();
    },
  });
  const log = keptLog();
  const job = await bench.install({ topic: 't', handler: 'typed', chunkRecords: 10, attempts: 1 });
  await bench.work([handler], { codec: failing, logger: log.logger });
  expect(await job.closed()).toMatchObject([{ counters: { ok: 100n, retries: 0n, deadLettered: 0n } }]);
  expect(seen.map(Number)).toEqual(numbers(0, 99));
  expect(log.said('breaker.opened')).toMatchObject([{ handler: 'typed', dependency: 'schema registry' }]);
});

it('takes no range for a handler whose breaker is open, says so of the job, and goes on with other handlers', async () => {
  const bench = memoryBench();
  await topicOf({ bench, partitions: 1, records: 10 });
  let isDown = true;
  const broken = defineHandler({
    name: 'broken',
    input: 'raw',
    idempotent: true,
    handle: () => {
      if (isDown) throw down('postgres');
      return done();
    },
  });
  const { handler } = recordingHandler();
  const log = keptLog();
  const first = await bench.install({ topic: 't', handler: 'broken' });
  await bench.work([broken, handler], { slots: 3, logger: log.logger, random: () => 0.99 });
  await waitFor('the breaker is open', () => log.said('breaker.opened').length > 0);
  const second = await bench.install({ topic: 't', handler: 'broken' });
  const fine = await bench.install({ topic: 't', handler: handler.name });
  await waitFor('the job is said to wait', async () => {
    const waiting = await bench.schedule.waiting();
    return waiting.get(second.jobId)?.reason === 'breaker postgres';
  });
  await fine.closed();
  isDown = false;
  for (const job of [first, second]) expect(await job.closed()).toMatchObject([{ counters: { ok: 10n } }]);
});

it('handles no faster than the rate of its job, in chunks of a quarter of a second, and says what it waits for', async () => {
  const bench = memoryBench();
  await topicOf({ bench, partitions: 2, records: 320 });
  const sizes: number[] = [];
  const notes = new Set<string>();
  const handler = defineHandler({
    name: 'sizes',
    input: 'raw',
    idempotent: true,
    handleBatch: (events) => {
      sizes.push(events.length);
      return done();
    },
  });
  const beganMs = performance.now();
  const job = await bench.install({ topic: 't', handler: 'sizes', chunkRecords: 1_000, rate: 200 });
  const { store } = watched(bench.store, (ranges) => {
    for (const { note } of ranges) notes.add(note);
  });
  await bench.work([handler], { store, slots: 2 });
  await job.closed();
  // 640 records; one second's worth was due at the start, and the last chunk begins before all of it is.
  expect(performance.now() - beganMs).toBeGreaterThanOrEqual(1_900);
  expect(Math.max(...sizes)).toBe(50);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(640);
  expect(notes).toContain('waiting: rate');
});

it('gives a range back that the rate would hold for too long', async () => {
  const bench = memoryBench();
  await topicOf({ bench, partitions: 1, records: 10 });
  const { handler } = recordingHandler(undefined, {});
  const releases: { readonly delayMs: number; readonly note: string }[] = [];
  let asked = 0;
  const schedule: Schedule = {
    ...bench.schedule,
    bookRate: async () => ({ waitMs: ++asked === 1 ? 45_000 : 0 }),
  };
  const job = await bench.install({ topic: 't', handler: handler.name, rate: 1_000 });
  await bench.work([handler], {
    schedule,
    store: {
      ...bench.store,
      release: (request) => {
        releases.push({ delayMs: request.delayMs, note: request.note });
        return bench.store.release({ ...request, delayMs: 0 });
      },
    },
  });
  expect(await job.closed()).toMatchObject([{ counters: { ok: 10n, maybeRedelivered: 0n } }]);
  expect(releases).toEqual([{ delayMs: 45_000, note: 'waiting: rate' }]);
});

it('never holds more ranges of a job at the same time than it allows, over all workers, and says that it waits', async () => {
  const bench = memoryBench();
  await topicOf({ bench, partitions: 8, records: 60 });
  let most = 0;
  const { handler } = recordingHandler(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return done();
  });
  const job = await bench.install({ topic: 't', handler: handler.name, concurrency: 3, chunkRecords: 10 });
  const { store } = watched(bench.store, (ranges) => {
    most = Math.max(most, heldNow(ranges, bench.nowMs()));
  });
  for (const workerId of ['w-1', 'w-2']) await bench.work([handler], { store, slots: 4, workerId });
  await waitFor('the word', async () => (await bench.schedule.waiting()).get(job.jobId)?.reason === 'permit');
  for (const range of await job.closed()) expect(range).toMatchObject({ counters: { ok: 60n } });
  expect(most).toBe(3);
});

it('never holds more ranges of all jobs at the same time than the workers allow', async () => {
  const bench = memoryBench();
  await topicOf({ bench, partitions: 3, records: 60 });
  const held = new Map<string, number>();
  let most = 0;
  const { handler } = recordingHandler(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return done();
  });
  const jobs = await Promise.all(
    ['a', 'b', 'c'].map((jobId) => bench.install({ topic: 't', handler: handler.name, jobId, chunkRecords: 10 })),
  );
  const { store } = watched(bench.store, (ranges, _step, jobId) => {
    held.set(jobId, heldNow(ranges, bench.nowMs()));
    most = Math.max(
      most,
      [...held.values()].reduce((sum, count) => sum + count, 0),
    );
  });
  for (const workerId of ['w-1', 'w-2']) await bench.work([handler], { store, slots: 4, workerId, rangesMax: 2 });
  for (const job of jobs) await job.closed();
  expect(most).toBe(2);
});

it('frees the permit of a worker that died when it runs out, not before its lease', async () => {
  const bench = memoryBench({ speed: 100 });
  await topicOf({ bench, partitions: 2, records: 20 });
  const { handler } = recordingHandler();
  const job = await bench.install({ topic: 't', handler: handler.name, concurrency: 1, chunkRecords: 10 });
  const dead = mortal(bench.store, { at: 3, moment: 'after' });
  const schedule: Schedule = {
    ...bench.schedule,
    permit: (request) => (dead.isDead ? new Promise(() => undefined) : bench.schedule.permit(request)),
  };
  await bench.work([handler], { store: dead.store, schedule, leaseTtlMs: 10_000, workerId: 'dead', stopGraceMs: 0 });
  await waitFor('its death', () => dead.isDead);
  let most = 0;
  const { store } = watched(bench.store, (ranges) => {
    most = Math.max(most, heldNow(ranges, bench.nowMs()));
  });
  await bench.work([handler], { store, leaseTtlMs: 10_000, workerId: 'heir' });
  const ranges = await job.closed();
  dead.bury();
  for (const range of ranges) expect(range).toMatchObject({ counters: { ok: 20n } });
  expect(most).toBe(1);
});

it('gives a big job no more than a slice between two turns of any small one', async () => {
  const bench = memoryBench();
  bench.cluster.createTopic('big');
  bench.cluster.createTopic('small');
  await bench.append('big', texts(20_000));
  await bench.append('small', texts(400));
  const turns: { readonly jobId: string; readonly records: number }[] = [];
  const handler = defineHandler({
    name: 'turns',
    input: 'raw',
    idempotent: true,
    handleBatch: (events, { jobId }) => {
      turns.push({ jobId, records: events.length });
      return done();
    },
  });
  const big = await bench.install({ topic: 'big', handler: 'turns', jobId: 'big', chunkRecords: 100 });
  const small = await Promise.all(
    numbers(1, 20).map((number) =>
      bench.install({ topic: 'small', handler: 'turns', jobId: `small-${number}`, chunkRecords: 10 }),
    ),
  );
  await bench.work([handler]);
  for (const job of [big, ...small]) await job.closed();
  const order = turns.map(({ jobId }) => jobId);
  for (const { jobId } of small) {
    const chunksOfBig = [];
    let since = 0;
    for (const each of order.slice(0, order.lastIndexOf(jobId) + 1)) {
      if (each === 'big') since += 1;
      if (each === jobId && since > 0) chunksOfBig.push(since);
      if (each === jobId) since = 0;
    }
    expect(Math.max(0, ...chunksOfBig)).toBeLessThanOrEqual(SLICE_CHUNKS);
  }
  // The big one had turns while small ones were open, and they were shared.
  const lastSmall = order.findLastIndex((jobId) => jobId !== 'big');
  const bigBefore = order.slice(0, lastSmall).filter((jobId) => jobId === 'big').length;
  expect(bigBefore).toBeGreaterThanOrEqual(SLICE_CHUNKS);
  expect(bigBefore).toBeLessThan(200);
});

it('looks at every job that is listed before it waits, so that those with nothing to lease hold up nobody', async () => {
  const bench = memoryBench();
  for (const topic of ['empty', 'full']) bench.cluster.createTopic(topic);
  await bench.append('full', texts(40));
  const { handler } = recordingHandler(() => done());
  for (let n = 0; n < 40; n += 1) await bench.install({ topic: 'empty', handler: handler.name });
  const job = await bench.install({ topic: 'full', handler: handler.name, chunkRecords: 1 });
  // No look comes by the clock: after each turn of the one job that has work, it must be found again among the others.
  await bench.work([handler], { pollMs: 600_000 });
  expect(await job.closed()).toMatchObject([{ status: 'done', counters: { ok: 40n, chunks: 40n } }]);
});

it('keeps its range while no other job is listed', async () => {
  const bench = memoryBench();
  await topicOf({ bench, partitions: 1, records: 1_000 });
  const { handler } = recordingHandler();
  const job = await bench.install({ topic: 't', handler: handler.name, chunkRecords: 10 });
  const { store, steps } = watched(bench.store);
  await bench.work([handler], { store });
  await job.closed();
  expect(steps.filter((step) => step === 'lease')).toHaveLength(1);
  expect(steps.filter((step) => step === 'release')).toHaveLength(0);
});

it('asks the store for two things a chunk, and for nothing else, when nothing limits the job or is parked', async () => {
  const bench = memoryBench();
  await topicOf({ bench, partitions: 1, records: 100 });
  const { handler } = recordingHandler();
  const job = await bench.install({ topic: 't', handler: handler.name, chunkRecords: 10 });
  const nothing = async (): Promise<never> => {
    throw new Error('asked');
  };
  const { store, steps } = watched(bench.store);
  const schedule: Schedule = { ...bench.schedule, permit: nothing, returnPermit: nothing, bookRate: nothing };
  await bench.work([handler], { store: { ...store, parked: nothing, settle: nothing }, schedule });
  await job.closed();
  expect(steps).toEqual(['lease', ...numbers(1, 10).flatMap(() => ['claim', 'advance'])]);
});

it('finishes the chunk in hand of a job that drains, gives the range back, and starts nothing more', async () => {
  const bench = memoryBench();
  await topicOf({ bench, partitions: 1, records: 50 });
  const { handler, offsets } = recordingHandler(async ({ offset }) => {
    if (offset === 13n) await bench.store.setMode({ jobId: job.jobId, mode: JobMode.draining });
    return done();
  });
  const job = await bench.install({ topic: 't', handler: handler.name, chunkRecords: 10 });
  const worker = await bench.work([handler]);
  await waitFor('it is given back', async () => (await job.ranges())[0]?.owner === '' && offsets().length > 13);
  expect(await job.ranges()).toMatchObject([{ cursor: 19n, horizon: 19n, counters: { ok: 20n } }]);
  await waitFor('the slot is idle', () => worker.state.slots.every(({ work }) => work === undefined));
  expect(offsets()).toEqual(numbers(0, 19));
  await bench.store.setMode({ jobId: job.jobId, mode: JobMode.running });
  expect(await job.closed()).toMatchObject([{ counters: { ok: 50n, maybeRedelivered: 0n } }]);
});

it('does not make a job that drains wait for a range that waits, or for parked records', async () => {
  const bench = memoryBench();
  await topicOf({ bench, partitions: 2, records: 10 });
  const isDown = true;
  const { handler } = recordingHandler(({ partition, offset }) => {
    if (partition === 0 && isDown) throw down('postgres');
    if (offset === 3n) throw new Error('flaky');
    return done();
  });
  const job = await bench.install({ topic: 't', handler: handler.name, attempts: 100 });
  await bench.work([handler], { slots: 2 });
  await waitFor('both are at it', async () => (await job.ranges()).some(({ note }) => note !== ''));
  await bench.store.setMode({ jobId: job.jobId, mode: JobMode.draining });
  await waitFor('nobody holds a range', async () => (await job.ranges()).every(({ owner }) => owner === ''));
});

it('has nothing accepted of a job that was halted, and gives the range back', async () => {
  const bench = memoryBench();
  await topicOf({ bench, partitions: 1, records: 20 });
  const { handler } = recordingHandler(async ({ offset }) => {
    if (offset === 13n) await bench.store.setMode({ jobId: job.jobId, mode: JobMode.halted });
    return done();
  });
  const job = await bench.install({ topic: 't', handler: handler.name, chunkRecords: 10 });
  await bench.work([handler]);
  await waitFor('it is given back', async () => {
    const [range] = await job.ranges();
    return range?.owner === '' && range.cursor === 9n;
  });
  // Records 10 to 19 may have been handled: their number is kept for the next owner.
  expect(await job.ranges()).toMatchObject([{ cursor: 9n, horizon: 19n }]);
});

it('leaves a job in a newer format to workers that know it, with one clear line, and takes the older ones', async () => {
  const bench = memoryBench();
  await topicOf({ bench, partitions: 1, records: 10 });
  const log = keptLog();
  const { handler: older, delivered: byOlder } = recordingHandler();
  const { handler: newer, delivered: byNewer } = recordingHandler();
  const inTwo = await bench.install({ topic: 't', handler: 'recording', jobId: 'in-two' });
  const inOne = await bench.install({ topic: 't', handler: 'recording', jobId: 'in-one' });
  // What a distributor of the version before writes.
  const {
    formatVersion: _,
    rate: _rate,
    onExhausted: _onExhausted,
    parkedMax: _parkedMax,
    ...known
  } = inOne.definition;
  const definition = JSON.stringify({ formatVersion: 1, ...known });
  await bench.schedule.enlist({ jobId: 'in-one', definition, priority: 0 });
  await bench.work([older], { workerId: 'n', formatMax: 1, logger: log.logger });
  expect(await inOne.closed()).toMatchObject([{ counters: { ok: 10n } }]);
  expect(byOlder).toHaveLength(10);
  await waitFor('the line', () => log.said('job.not_eligible').length > 0);
  expect(await inTwo.ranges()).toMatchObject([{ cursor: -1n, owner: '' }]);
  await bench.work([newer], { workerId: 'n+1' });
  expect(await inTwo.closed()).toMatchObject([{ counters: { ok: 10n } }]);
  expect([byOlder.length, byNewer.length]).toEqual([10, 10]);
  expect(log.said('job.not_eligible')).toMatchObject([
    { jobId: 'in-two', reason: 'job in-two is in format 2, this worker knows up to 1: update it' },
  ]);
});

it('leaves alone what it cannot run, says why once a job, and goes on with the rest', async () => {
  const bench = memoryBench();
  await topicOf({ bench, partitions: 1, records: 10 });
  const log = keptLog();
  const { handler, delivered } = recordingHandler(undefined, { idempotent: false });
  const unknown = await bench.install({ topic: 't', handler: 'nobody-has-it', jobId: 'unknown' });
  const refused = await bench.install({ topic: 't', handler: handler.name, jobId: 'refused' });
  const future = await bench.install({ topic: 't', handler: handler.name, jobId: 'future' });
  const text = encodeDefinition(jobDefinition({ jobId: 'future', topic: 't', handler: handler.name }));
  const definition = JSON.stringify({ ...(JSON.parse(text) as object), formatVersion: 3 });
  await bench.schedule.enlist({ jobId: 'future', definition, priority: 0 });
  await bench.work([handler], { logger: log.logger });
  const accepted = await bench.install({ topic: 't', handler: handler.name, acceptDuplicates: true });
  expect(await accepted.closed()).toMatchObject([{ counters: { ok: 10n } }]);
  expect(delivered).toHaveLength(10);
  for (const job of [unknown, refused, future])
    expect(await job.ranges()).toMatchObject([{ owner: '', cursor: -1n, status: 'open' }]);
  const reasons = new Map(log.said('job.not_eligible').map(({ jobId, reason }) => [jobId, reason]));
  expect(log.said('job.not_eligible')).toHaveLength(3);
  expect(reasons.get('unknown')).toBe('this worker has no handler nobody-has-it');
  expect(reasons.get('refused')).toBe('handler recording is not idempotent and the job does not accept duplicates');
  expect(reasons.get('future')).toMatch(/^job future is in format 3, this program knows up to 2/);
});

it('P6: chunks of which nothing is handled do not tell that a dependency is back', async () => {
  const bench = memoryBench();
  bench.cluster.createTopic('t', { partitionCount: 2 });
  const writer = await bench.cluster.openWriter();
  const record = (partition: number, timestampMs: bigint) => ({
    topic: 't',
    partition,
    key: null,
    value: null,
    timestampMs,
  });
  await writer.append(numbers(1, 300).map(() => record(0, 1n)));
  await writer.append([record(1, 2_000n)]);
  await writer.close();
  const log = keptLog();
  let isDown = true;
  const { handler, delivered } = recordingHandler(() => {
    if (isDown) throw down('postgres');
    return done();
  });
  const job = await bench.install({ topic: 't', handler: handler.name, fromMs: 1_000, chunkRecords: 1 });
  await bench.work([handler], { slots: 2, logger: log.logger });
  await waitFor('some probes', () => delivered.length >= 4);
  isDown = false;
  expect(await job.closed()).toMatchObject([{ counters: { filtered: 300n } }, { counters: { ok: 1n } }]);
  expect(log.said('breaker.opened')).toHaveLength(1);
  expect(log.said('breaker.closed')).toHaveLength(1);
});

it('does not let an urgent job that has always something to do starve the others', async () => {
  const bench = memoryBench();
  bench.cluster.createTopic('urgent', { partitionCount: 2 });
  bench.cluster.createTopic('small');
  for (const partition of [0, 1]) await bench.append('urgent', texts(5_000), partition);
  await bench.append('small', texts(10));
  const order: string[] = [];
  const { handler } = recordingHandler(({ topic }) => {
    order.push(topic);
    return done();
  });
  const urgent = await bench.install({ topic: 'urgent', handler: handler.name, chunkRecords: 10 });
  const { jobId, definition } = urgent;
  await bench.schedule.enlist({ jobId, definition: encodeDefinition(definition), priority: 9 });
  await bench.install({ topic: 'small', handler: handler.name, chunkRecords: 10 });
  await bench.work([handler]);
  await urgent.closed();
  // Every eighth turn is of whoever waited longest, and a turn is a slice.
  expect(order.indexOf('small')).toBeGreaterThan(0);
  expect(order.indexOf('small')).toBeLessThanOrEqual(8 * SLICE_CHUNKS * 10);
});
