/** Parked records through a whole worker, on the in-memory log and store. Their pure rules are tested in `parked/`. */
import type { RangeState } from '@tidemark/cursors';
import { defineHandler, done } from '@tidemark/handlers';
import { OnExhausted, OnLost, Ordering } from '@tidemark/jobs';
import { explainedOffsets, TidemarkError, toOffset } from '@tidemark/keyspace';
import { waitFor } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { PARKED_BATCH_MS } from './limits.ts';
import { endLease } from './testing/end-lease.ts';
import { type MemoryBench, memoryBench } from './testing/memory-worker.ts';
import { numbers, recordingHandler } from './testing/recording-handler.ts';
import { mortal, watched } from './testing/watched-store.ts';

/** A parked record's pauses of seconds are over in a moment. */
const SPEED = 100;

const texts = (count: number): string[] => numbers(0, count - 1).map(String);

async function setUp(values: Parameters<MemoryBench['append']>[1]) {
  const bench = memoryBench({ speed: SPEED });
  bench.cluster.createTopic('t');
  await bench.append('t', values);
  return bench;
}

async function lettersOf({ cluster }: MemoryBench) {
  const topic = await cluster.catalog.describe('t.dlq');
  if (topic === undefined) return [];
  const end = (await cluster.catalog.offsets(topic))[0]?.highWatermark ?? 0n;
  const answer = await cluster.openReader().read({
    source: { topic: 't.dlq', topicId: topic.topicId, partition: 0 },
    cursor: toOffset(-1),
    end: toOffset(end - 1n),
    recordsMax: 1_000,
    bytesMax: 1_000_000,
    waitMs: 0,
  });
  if (answer.kind !== 'chunk') return [];
  return answer.chunk.records.map(({ headers }) => {
    const texts = new Map(headers.map(([name, value]) => [name, String(value)]));
    return ['offset', 'attempt', 'class', 'error'].map((name) => texts.get(`tm_dlq_${name}`));
  });
}

function expectDone(ranges: readonly RangeState[]): void {
  for (const range of ranges) {
    expect(range).toMatchObject({ status: 'done', cursor: range.end, parked: [], counters: { parked: 0n } });
    expect(explainedOffsets(range.counters)).toBe(range.end - range.start);
  }
}

it('goes on with its chunk while a record that failed in place is parked, and settles it later', async () => {
  const bench = await setUp(texts(20));
  const calls: string[] = [];
  const { handler } = recordingHandler(({ offset }, { attempt }) => {
    calls.push(`${offset}.${attempt}`);
    if (offset === 3n && attempt < 5) throw new Error('flaky');
    return done();
  });
  const job = await bench.install({ topic: 't', handler: handler.name, chunkRecords: 5 });
  await bench.work([handler]);
  const ranges = await job.closed();
  expectDone(ranges);
  expect(ranges).toMatchObject([{ counters: { ok: 20n, deadLettered: 0n, retries: 4n, chunks: 4n } }]);
  expect(calls.filter((call) => call.startsWith('3.'))).toEqual(['3.1', '3.2', '3.3', '3.4', '3.5']);
  expect(calls.indexOf('4.1')).toBeLessThan(calls.indexOf('3.4'));
  expect(calls).toHaveLength(24);
});

it('dead-letters a parked record when its attempts are used up', async () => {
  const bench = await setUp(texts(5));
  const { handler, offsets } = recordingHandler(({ offset }) => {
    if (offset === 3n) throw new Error('flaky');
    return done();
  });
  const job = await bench.install({ topic: 't', handler: handler.name, attempts: 5 });
  await bench.work([handler]);
  const ranges = await job.closed();
  expectDone(ranges);
  expect(ranges).toMatchObject([{ counters: { ok: 4n, deadLettered: 1n, retries: 4n } }]);
  expect(offsets().filter((offset) => offset === 3)).toHaveLength(5);
  expect(await lettersOf(bench)).toEqual([['3', '5', 'transient', 'flaky']]);
});

it.each([
  { ordering: Ordering.none, attempts: 4 },
  { ordering: Ordering.partition, attempts: 2 },
])('gives the range back and says why when the job wants to be suspended then ($ordering)', async (job) => {
  const bench = await setUp(texts(10));
  let mended = false;
  let seen = 0;
  const { handler } = recordingHandler(({ offset }) => {
    if (offset !== 3n || mended) return done();
    seen += 1;
    throw new Error('no such user');
  });
  const installed = await bench.install({
    topic: 't',
    handler: handler.name,
    onExhausted: OnExhausted.suspend,
    ...job,
  });
  await bench.work([handler]);
  // It may be given back before, to wait for the next attempt.
  const [range] = await waitFor('the suspension', async () => {
    const ranges = await installed.ranges();
    return ranges[0]?.owner === '' && ranges[0].note.startsWith('suspend: ') && ranges;
  });
  expect(range).toMatchObject({ note: 'suspend: record 3 failed: no such user', status: 'open' });
  expect(seen).toBeGreaterThanOrEqual(job.attempts);
  expect(range?.parked.map(({ offset }) => offset)).toEqual(job.ordering === Ordering.none ? [3n] : []);
  mended = true;
  const ranges = await installed.closed();
  expectDone(ranges);
  expect(ranges).toMatchObject([{ note: '', counters: { ok: 10n, deadLettered: 0n } }]);
  expect(await lettersOf(bench)).toEqual([]);
});

it('makes all attempts in place under ordering partition, and parks nothing', async () => {
  const bench = await setUp(texts(10));
  let parkedMost = 0;
  const { handler, offsets } = recordingHandler(({ offset }) => {
    if (offset === 3n) throw new Error('flaky');
    return done();
  });
  const job = await bench.install({ topic: 't', handler: handler.name, ordering: Ordering.partition, attempts: 5 });
  const { store } = watched(bench.store, ([range]) => {
    parkedMost = Math.max(parkedMost, range?.parked.length ?? 0);
  });
  await bench.work([handler], { store });
  expectDone(await job.closed());
  expect(offsets()).toEqual([0, 1, 2, 3, 3, 3, 3, 3, 4, 5, 6, 7, 8, 9]);
  expect(parkedMost).toBe(0);
  expect(await lettersOf(bench)).toEqual([['3', '5', 'transient', 'flaky']]);
});

it('aborts a handler that never answers, tries again, and dead-letters the record with class timeout', async () => {
  const bench = await setUp(texts(5));
  const aborted: number[] = [];
  const { handler, offsets } = recordingHandler(
    ({ offset }, { signal, attempt }) => {
      if (offset !== 2n) return done();
      signal.addEventListener('abort', () => aborted.push(attempt));
      return new Promise(() => undefined);
    },
    { timeoutMs: 10 },
  );
  const job = await bench.install({ topic: 't', handler: handler.name, attempts: 3 });
  await bench.work([handler]);
  const ranges = await job.closed();
  expectDone(ranges);
  expect(aborted).toEqual([1, 2, 3]);
  expect(ranges).toMatchObject([{ counters: { ok: 4n, deadLettered: 1n, retries: 2n } }]);
  // In place only once: the next record did not wait for the others.
  expect(offsets().slice(0, 5)).toEqual([0, 1, 2, 3, 4]);
  expect(await lettersOf(bench)).toEqual([['2', '3', 'timeout', 'the handler did not answer within 10 ms']]);
});

it('counts an attempt that outlasts the turn of the parked: a handler that hangs for long comes to its end, too', async () => {
  const bench = await setUp(texts(3));
  const timeoutMs = 50;
  expect(timeoutMs * SPEED).toBeGreaterThan(PARKED_BATCH_MS);
  const { handler, offsets } = recordingHandler(
    ({ offset }) => (offset === 1n ? new Promise(() => undefined) : done()),
    { timeoutMs },
  );
  const job = await bench.install({ topic: 't', handler: handler.name, attempts: 3 });
  await bench.work([handler]);
  const ranges = await job.closed();
  expectDone(ranges);
  expect(ranges).toMatchObject([{ counters: { ok: 2n, deadLettered: 1n, retries: 2n } }]);
  expect(offsets().filter((offset) => offset === 1)).toHaveLength(3);
});

it('takes a batch that fails apart, and tries the parked ones of it each for itself', async () => {
  const bench = await setUp(texts(6));
  const sizes: number[] = [];
  const handler = defineHandler({
    name: 'batches',
    input: 'raw',
    idempotent: true,
    handleBatch: (events, { attempt }) => {
      sizes.push(events.length);
      if (events.some(({ offset }) => offset === 4n) && attempt < 5) throw new Error('deadlock');
      return done();
    },
  });
  const job = await bench.install({ topic: 't', handler: 'batches' });
  await bench.work([handler]);
  const ranges = await job.closed();
  expectDone(ranges);
  // Three times all of them, then each alone: the fifth three times in place and twice out of the parked set.
  expect(sizes).toEqual([6, 6, 6, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
  expect(ranges).toMatchObject([{ counters: { ok: 6n, deadLettered: 0n } }]);
});

it('hands a batch handler that bounds its batches no more at once', async () => {
  const bench = await setUp(texts(10));
  const sizes: number[] = [];
  const handler = defineHandler({
    name: 'batches',
    input: 'raw',
    idempotent: true,
    batchRecordsMax: 4,
    handleBatch: (events) => {
      sizes.push(events.length);
      return done();
    },
  });
  const job = await bench.install({ topic: 't', handler: 'batches' });
  await bench.work([handler]);
  expectDone(await job.closed());
  expect(sizes).toEqual([4, 4, 2]);
});

it('holds the parked set to its bound, says so, and loses nothing while everything fails', async () => {
  const bench = await setUp(texts(30));
  let mended = false;
  let parkedMost = 0;
  const notes = new Set<string>();
  const { handler } = recordingHandler(
    async ({ offset }) => {
      await Promise.resolve();
      if (offset % 2n === 1n && !mended) throw new Error('flaky');
      return done();
    },
    { concurrency: 4 },
  );
  const job = await bench.install({ topic: 't', handler: handler.name, parkedMax: 3, attempts: 100, chunkRecords: 8 });
  const { store } = watched(bench.store, ([range]) => {
    parkedMost = Math.max(parkedMost, range?.parked.length ?? 0);
  });
  await bench.work([handler], { store });
  await waitFor('the note', async () => {
    const [range] = await job.ranges();
    notes.add(range?.note ?? '');
    return notes.has('waiting: too many parked records');
  });
  mended = true;
  const ranges = await job.closed();
  expectDone(ranges);
  expect(ranges).toMatchObject([{ counters: { ok: 30n, deadLettered: 0n } }]);
  expect(parkedMost).toBe(3);
});

it('tries one batch of parked records for each chunk while chunks remain, however many are due', async () => {
  const bench = await setUp(texts(600));
  const { handler } = recordingHandler(({ offset }, { attempt }) => {
    if (offset < 300n && attempt < 5) throw new Error('flaky');
    return done();
  });
  const job = await bench.install({ topic: 't', handler: handler.name, chunkRecords: 100, parkedMax: 1_000 });
  const { store, steps } = watched(bench.store);
  await bench.work([handler], { store });
  expectDone(await job.closed());
  const order = steps.filter((step) => step === 'advance' || step === 'settle');
  const lastAdvance = order.lastIndexOf('advance');
  expect(order.slice(0, lastAdvance).filter((step) => step === 'settle').length).toBeGreaterThan(1);
  for (const [place, step] of order.slice(0, lastAdvance).entries())
    if (step === 'settle') expect(order[place + 1]).toBe('advance');
});

it('B1: a parked record that retention removed stops the range by name, and is counted by a job that skips', async () => {
  for (const onLost of [OnLost.stop, OnLost.skip]) {
    const bench = await setUp(texts(10));
    const source = { ...(await bench.cluster.catalog.describe('t')), topic: 't', partition: 0 };
    const { handler } = recordingHandler(async ({ offset }, { attempt }) => {
      if (offset === 9n && attempt === 1)
        await bench.cluster.catalog.deleteRecordsBefore({ topicId: '', ...source }, toOffset(6));
      if (offset === 2n || offset === 4n) throw new Error('flaky');
      return done();
    });
    const job = await bench.install({ topic: 't', handler: handler.name, onLost });
    await bench.work([handler]);
    const ranges = await job.closed();
    if (onLost === OnLost.stop) {
      const lost = [2n, 4n].map((offset) => ({ first: offset, last: offset }));
      const note = 'OFFSETS_LOST: parked 2-2, 4-4';
      expect(ranges).toMatchObject([{ status: 'stopped', cursor: 9n, note, lost, counters: { ok: 8n, parked: 2n } }]);
    } else {
      expectDone(ranges);
      const passed = [2n, 4n].map((offset) => ({ first: offset, last: offset }));
      expect(ranges).toMatchObject([{ passed, lost: [], counters: { ok: 8n, lost: 2n, deadLettered: 0n } }]);
    }
  }
});

it('B1: a range that is stopped because the log start passed its cursor names its parked records with the rest', async () => {
  const bench = await setUp(texts(20));
  const source = { topicId: '', ...(await bench.cluster.catalog.describe('t')), topic: 't', partition: 0 };
  const { handler, offsets } = recordingHandler(({ offset }) => {
    if (offset === 2n) throw new Error('flaky');
    if (offset === 9n) void worker.stop('records are removed');
    return done();
  });
  const job = await bench.install({ topic: 't', handler: handler.name, attempts: 100 });
  const worker = await bench.work([handler]);
  await waitFor('it has stopped', () => worker.state.phase === 'stopped');
  await bench.cluster.catalog.deleteRecordsBefore(source, toOffset(15));
  const before = offsets().length;
  await bench.work([handler]);
  expect(await job.closed()).toMatchObject([
    {
      status: 'stopped',
      cursor: 9n,
      lost: [
        { first: 2n, last: 2n },
        { first: 10n, last: 14n },
      ],
    },
  ]);
  expect(offsets()).toHaveLength(before);
});

it('counts a parked record that compaction took as lost, never as done', async () => {
  const bench = await setUp(texts(10));
  const { handler } = recordingHandler(({ offset }) => {
    if (offset === 9n) bench.cluster.compact('t', 0, (record) => record.offset !== 2n);
    if (offset === 2n) throw new Error('flaky');
    return done();
  });
  const job = await bench.install({ topic: 't', handler: handler.name, onLost: OnLost.skip });
  await bench.work([handler]);
  const ranges = await job.closed();
  expectDone(ranges);
  const passed = [{ first: 2n, last: 2n }];
  expect(ranges).toMatchObject([{ passed, counters: { ok: 9n, lost: 1n, deadLettered: 0n } }]);
});

it('F5: a parked record whose dead letter is refused stays parked until that is over', async () => {
  const bench = await setUp(texts(5));
  const refusal = new TidemarkError({ code: 'DOWN', class: 'unavailable', message: 'kafka is down' });
  for (let failure = 0; failure < 3; failure++) bench.cluster.faults.failNext('append', refusal);
  const parked: (bigint[] | undefined)[] = [];
  const { handler } = recordingHandler(async ({ offset }, { attempt }) => {
    if (offset !== 3n) return done();
    if (attempt === 4) parked.push((await job.ranges())[0]?.parked.map((record) => record.offset));
    throw new Error('flaky');
  });
  const job = await bench.install({ topic: 't', handler: handler.name, attempts: 4 });
  await bench.work([handler]);
  const ranges = await job.closed();
  expectDone(ranges);
  expect(ranges).toMatchObject([{ counters: { ok: 4n, deadLettered: 1n } }]);
  // Refused three times, and the attempt that was refused is made again.
  expect(parked).toEqual([[3n], [3n], [3n], [3n]]);
  expect(await lettersOf(bench)).toHaveLength(1);
});

it('keeps the effects of each key in the order of its offsets, parked or not, over releases and takeovers', async () => {
  const keys = ['a', 'b', 'c', null];
  const values = numbers(0, 199).map((value) => ({ key: keys[value % 4] ?? null, value: String(value) }));
  const bench = await setUp(values);
  const effects: { readonly key: string; readonly offset: number }[] = [];
  const { handler } = recordingHandler(
    async ({ key, offset }, { attempt }) => {
      await Promise.resolve();
      // One in five fails in place, some of them again when parked.
      if (Number(offset) % 5 === 0 && attempt < 4 + (Number(offset) % 3)) throw new Error('flaky');
      if (key !== null) effects.push({ key: String(key), offset: Number(offset) });
      return done();
    },
    { concurrency: 8 },
  );
  const job = await bench.install({
    topic: 't',
    handler: handler.name,
    ordering: Ordering.key,
    attempts: 10,
    chunkRecords: 7,
  });
  for (let life = 0; life < 6; life++) {
    const worker = await bench.work([handler], { workerId: `w-${life}` });
    const before = effects.length;
    await waitFor('some more effects', () => effects.length > Math.min(before + 20, 149));
    await worker.stop('a deployment');
  }
  await bench.work([handler]);
  const ranges = await job.closed();
  expectDone(ranges);
  expect(ranges).toMatchObject([{ counters: { ok: 200n, deadLettered: 0n } }]);
  for (const key of ['a', 'b', 'c']) {
    const own = effects.filter((effect) => effect.key === key).map(({ offset }) => offset);
    // Shutdowns of a worker lose nothing that was settled, so here nothing is repeated either.
    expect(own).toEqual(numbers(0, 199).filter((offset) => keys[offset % 4] === key));
  }
});

it.each([
  { ordering: Ordering.none, parkedMax: 1_000 },
  { ordering: Ordering.key, parkedMax: 1_000 },
  { ordering: Ordering.key, parkedMax: 3 },
])(
  'P4: killed at any call of the store it repeats at most a chunk and a batch of parked records, and loses nothing (%o)',
  async ({ ordering, parkedMax }) => {
    const keyOf = (offset: number): string => 'ab'[offset % 2] ?? '';
    const run = async (death: { readonly at: number; readonly moment: 'before' | 'after' } | undefined) => {
      const bench = await setUp(numbers(0, 11).map((value) => ({ key: keyOf(value), value: String(value) })));
      const effects: number[] = [];
      const handlerOf = (isDead: () => boolean) =>
        recordingHandler(
          async ({ offset }, { attempt }) => {
            await Promise.resolve();
            if (isDead()) return await new Promise<never>(() => undefined);
            if (offset % 5n === 1n && attempt < 4) throw new Error('flaky');
            effects.push(Number(offset));
            return done();
          },
          { concurrency: 2 },
        ).handler;
      const job = await bench.install({
        topic: 't',
        handler: 'recording',
        chunkRecords: 4,
        attempts: 10,
        ordering,
        parkedMax,
      });
      let parkedMost = 0;
      const first = mortal(bench.store, death);
      const { store } = watched(first.store, ([range]) => {
        parkedMost = Math.max(parkedMost, range?.parked.length ?? 0);
      });
      await bench.work([handlerOf(() => first.isDead)], { store, stopGraceMs: 0 });
      if (death !== undefined) {
        await waitFor('its death, or the end', async () => first.isDead || (await job.ranges())[0]?.status === 'done');
        await endLease(bench.store, job);
        await bench.work([handlerOf(() => false)]);
      }
      const ranges = await job.closed();
      first.bury();
      expectDone(ranges);
      expect(ranges).toMatchObject([{ counters: { ok: 12n, deadLettered: 0n } }]);
      return { effects, calls: first.calls, parkedMost, uncertain: ranges[0]?.counters.maybeRedelivered };
    };
    const { calls } = await run(undefined);
    expect(calls).toBeGreaterThan(8);
    const deaths = numbers(1, calls).flatMap((at) => (['before', 'after'] as const).map((moment) => ({ at, moment })));
    const ends = await Promise.all(deaths.map(run));
    for (const { effects, parkedMost, uncertain } of ends) {
      const order = [...new Set(effects)];
      expect([...order].sort((a, b) => a - b)).toEqual(numbers(0, 11));
      if (ordering === Ordering.key)
        for (const key of ['a', 'b'])
          expect(order.filter((offset) => keyOf(offset) === key)).toEqual(
            numbers(0, 11).filter((offset) => keyOf(offset) === key),
          );
      expect(parkedMost).toBeLessThanOrEqual(parkedMax);
      const repeated = effects.length - order.length;
      expect(repeated).toBeLessThanOrEqual(4 + parkedMost);
      expect(BigInt(repeated)).toBeLessThanOrEqual(uncertain ?? 0n);
    }
    expect(ends.some(({ effects }) => effects.length > 12)).toBe(true);
  },
);
