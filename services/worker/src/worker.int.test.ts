/** The worker on the real services: shapes of the log, faults, dead letters. Processes and kills are in main.int.test.ts. */
import { JobMode, type RangeState } from '@tidemark/cursors';
import { defineHandler, done, skip } from '@tidemark/handlers';
import { explainedOffsets, toOffset } from '@tidemark/keyspace';
import {
  beginTransaction,
  consoleConsumer,
  createTopic,
  deleteRecordsBefore,
  deleteTopic,
  produce,
  produceTransactions,
  services,
  uniqueName,
  waitFor,
} from '@tidemark/testkit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { systemClock } from './clock.ts';
import { realBench } from './testing/real-worker.ts';
import { numbers, recordingHandler } from './testing/recording-handler.ts';
import type { Worker } from './worker.ts';

const messages = (count: number, first = 0) =>
  Array.from({ length: count }, (_, place) => ({ value: String(first + place) }));

/** The identity of promise 10, and the cursor exactly at the end. */
function expectAddsUp(ranges: readonly RangeState[]): void {
  for (const range of ranges) {
    expect(range).toMatchObject({ status: 'done', cursor: range.end });
    expect(explainedOffsets(range.counters)).toBe(range.end - range.start);
  }
}

it('A1: the cursor lands on the commit marker that ends the window', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('a1'));
  await produceTransactions(topic, [{ outcome: 'commit', messages: messages(3) }]);
  const { handler, offsets } = recordingHandler();
  const job = await bench.install({ topic, handler: handler.name, chunkRecords: 2 });
  await bench.work([handler]);
  const ranges = await job.closed();
  expect(offsets()).toEqual([0, 1, 2]);
  expect(ranges).toMatchObject([{ cursor: 3n, end: 3n, status: 'done', counters: { ok: 3n, markers: 1n } }]);
  expectAddsUp(ranges);
});

it('A5: partitions that are empty or end below the others', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('a5'), { partitions: 4 });
  await produce(topic, messages(2));
  const { handler, delivered } = recordingHandler();
  await bench.work([handler]);
  const full = await bench.install({ topic, handler: handler.name });
  expectAddsUp(await full.closed());
  expect(delivered).toEqual(['0:0', '0:1']);
  const empty = await bench.install({ topic: await createTopic(uniqueName('a5c')), handler: handler.name });
  expect(await empty.closed()).toMatchObject([{ status: 'done', counters: { ok: 0n } }]);
});

it('A6: a range that cuts through a batch, and a head that was trimmed inside one', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('a6'));
  await produce(topic, messages(10));
  const { handler, delivered, offsets } = recordingHandler();
  await bench.work([handler]);
  const middle = await bench.install({ topic, handler: handler.name, start: () => 3n, end: () => 7n });
  expectAddsUp(await middle.closed());
  expect(offsets()).toEqual([4, 5, 6, 7]);
  delivered.length = 0;
  await deleteRecordsBefore(topic, 0, 5n);
  const trimmed = await bench.install({ topic, handler: handler.name });
  expectAddsUp(await trimmed.closed());
  expect(offsets()).toEqual([5, 6, 7, 8, 9]);
});

it('A7: a record bigger than the chunk makes a chunk of its own', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('a7'), { configs: { 'max.message.bytes': String(8 * 1024 * 1024) } });
  await produce(topic, messages(20));
  await produce(topic, [{ value: Buffer.alloc(6 * 1024 * 1024, 'x') }]);
  await produce(topic, messages(20, 21));
  const sizes: number[][] = [];
  const handler = defineHandler({
    name: 'sizes',
    input: 'raw',
    idempotent: true,
    handleBatch: (events) => {
      sizes.push(events.map((event) => Number(event.offset)));
      return done();
    },
  });
  const job = await bench.install({ topic, handler: handler.name, chunkRecords: 1_000, chunkBytes: 1024 * 1024 });
  await bench.work([handler]);
  expectAddsUp(await job.closed());
  expect(sizes.flat()).toEqual(numbers(0, 40));
  expect(sizes.find((chunk) => chunk.includes(20))).toEqual([20]);
});

it('delivers what the console consumer of Kafka prints, over aborted and interleaved transactions', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('aborted'));
  await produceTransactions(topic, [
    { outcome: 'abort', messages: messages(3) },
    { outcome: 'commit', messages: messages(3, 3) },
    { outcome: 'commit', messages: messages(3, 6) },
    { outcome: 'abort', messages: messages(3, 9) },
    { outcome: 'abort', messages: [] },
  ]);
  const expected = await consoleConsumer({ topic, maxMessages: 6 });
  const { handler, offsets } = recordingHandler();
  const job = await bench.install({ topic, handler: handler.name, chunkRecords: 2 });
  await bench.work([handler]);
  expectAddsUp(await job.closed());
  expect(offsets()).toEqual(expected.map((record) => Number(record.offset)));
  expect(offsets()).toHaveLength(6);
});

it.each([
  {
    cut: 50n,
    onLost: 'stop',
    expected: { status: 'stopped', cursor: 19n, note: 'OFFSETS_LOST: 20-49', lost: [{ first: 20n, last: 49n }] },
    delivered: numbers(0, 19),
  },
  {
    cut: 50n,
    onLost: 'skip',
    expected: { status: 'done', cursor: 99n, passed: [{ first: 20n, last: 49n }], counters: { ok: 70n, lost: 30n } },
    delivered: [...numbers(0, 19), ...numbers(50, 99)],
  },
  {
    cut: 100n,
    onLost: 'stop',
    expected: { status: 'stopped', cursor: 19n, lost: [{ first: 20n, last: 99n }] },
    delivered: numbers(0, 19),
  },
  {
    cut: 100n,
    onLost: 'skip',
    expected: { status: 'done', cursor: 99n, passed: [{ first: 20n, last: 99n }], counters: { ok: 20n, lost: 80n } },
    delivered: numbers(0, 19),
  },
] as const)(
  'B1: records removed below $cut under a job with on-lost $onLost',
  async ({ cut, onLost, expected, delivered }) => {
    const bench = await realBench();
    const topic = await createTopic(uniqueName('b1'));
    await produce(topic, messages(100));
    // Shut down behind offset 19, a worker leaves nothing that was read ahead: the next one meets the hole.
    let first: Worker | undefined;
    const { handler, offsets } = recordingHandler((event) => {
      if (event.offset === 19n) void first?.stop('records are removed');
      return done();
    });
    first = await bench.work([handler], { slots: 1, stopGraceMs: 60_000 });
    const job = await bench.install({ topic, handler: handler.name, onLost });
    await waitFor('the first worker has stopped', () => first?.state.phase === 'stopped');
    expect(await job.ranges()).toMatchObject([{ cursor: 19n, owner: '' }]);
    await deleteRecordsBefore(topic, 0, cut);
    await bench.work([handler]);
    expect(await job.closed()).toMatchObject([expected]);
    expect(offsets()).toEqual(delivered);
  },
);

it('B3: a topic that was deleted stops the job by name, is not brought back, and another job goes on', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('b3'));
  const other = await createTopic(uniqueName('b3-other'));
  await produce(topic, messages(10));
  await produce(other, messages(10));
  const { handler, delivered } = recordingHandler();
  const doomed = await bench.install({ topic, handler: handler.name });
  const fine = await bench.install({ topic: other, handler: handler.name });
  await deleteTopic(topic);
  await waitFor('the topic is gone', async () => (await bench.cluster.catalog.describe(topic)) === undefined);
  await bench.work([handler]);
  expect(await doomed.closed()).toMatchObject([
    { status: 'stopped', note: expect.stringContaining('TOPIC_NOT_FOUND') },
  ]);
  expectAddsUp(await fine.closed());
  expect(delivered).toHaveLength(10);
  expect(await bench.cluster.catalog.describe(topic)).toBeUndefined();
});

it('says that it waits for an open transaction, and finishes when that ends', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('open-tx'));
  await produce(topic, messages(5));
  // The broker must not end it, however long the test takes.
  const transaction = await beginTransaction(topic, messages(2, 5), { producer: { transactionTimeout: 600_000 } });
  const { handler, offsets } = recordingHandler();
  const job = await bench.install({ topic, handler: handler.name });
  await bench.work([handler]);
  const [waiting] = await waitFor('the note', async () => {
    const ranges = await job.ranges();
    return ranges[0]?.note === 'waiting: open transaction at 5' ? ranges : undefined;
  });
  expect(waiting).toMatchObject({ cursor: 4n, status: 'open' });
  await transaction.commit();
  // The window was pinned while the transaction was open, so its marker lies above the end.
  const ranges = await job.closed();
  expectAddsUp(ranges);
  expect(offsets()).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

it('D2: writes dead letters byte by byte, on the partition of their record, acknowledged before the cursor passes', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('d2'), { partitions: 2 });
  const binary = Buffer.from([0, 0xff, 0xfe]);
  const sent = [
    { key: null, value: null },
    { key: Buffer.alloc(0), value: Buffer.alloc(0) },
    { key: binary, value: Buffer.from('null'), headers: { h: binary } },
  ];
  await produce(topic, sent, { partition: 1 });
  const handler = defineHandler({
    name: 'refusing',
    input: 'raw',
    idempotent: true,
    classify: () => 'data',
    handle: () => {
      throw new Error('no such user');
    },
  });
  const job = await bench.install({ topic, handler: handler.name });
  await bench.work([handler]);
  const ranges = await job.closed();
  expectAddsUp(ranges);
  expect(ranges[1]?.counters).toMatchObject({ ok: 0n, deadLettered: 3n });
  const letters = await readAll(bench, `${topic}.dlq`, 1);
  expect(letters.map(({ key, value }) => ({ key, value }))).toEqual(sent.map(({ key, value }) => ({ key, value })));
  const headers = new Map(letters[2]?.headers);
  expect(headers.get('h')).toEqual(binary);
  expect(headers.get('tm_dlq_offset')?.toString()).toBe('2');
  expect(headers.get('tm_dlq_error')?.toString()).toBe('no such user');
  expect(await bench.cluster.catalog.describe(`${topic}.dlq`)).toMatchObject({ partitionCount: 2 });
});

it('handles of a window by time exactly the records of that time, in whatever order they lie, and counts the others', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('time'), { configs: { 'retention.ms': '-1' } });
  const base = 1_700_000_000_000;
  const seconds = [7, 4, 9, 2, 5, 0, 3, 8, 1, 6];
  await produce(
    topic,
    seconds.map((second) => ({ value: String(second), timestamp: String(base + second * 1_000) })),
  );
  const { handler, offsets } = recordingHandler();
  const job = await bench.install({ topic, handler: handler.name, fromMs: base + 2_000, toMs: base + 5_000 });
  await bench.work([handler]);
  const ranges = await job.closed();
  expectAddsUp(ranges);
  expect(offsets()).toEqual([1, 3, 6]);
  expect(ranges[0]?.counters).toMatchObject({ ok: 3n, filtered: 7n });
});

it('decodes for avro handlers, and dead-letters what cannot be decoded', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('avro'));
  const good = await bench.codec.encodeJsonFor(topic, '{"id":9007199254740993}');
  await produce(topic, [{ value: good }, { value: 'plain text' }, { value: null }, { value: good }]);
  const seen: unknown[] = [];
  const handler = defineHandler<{ readonly json: string }>({
    name: 'typed',
    input: 'avro',
    idempotent: true,
    handle: (event) => {
      seen.push(event.payload?.json ?? null);
      return event.payload === null ? skip('tombstone') : done();
    },
  });
  const job = await bench.install({ topic, handler: handler.name });
  await bench.work([handler]);
  const ranges = await job.closed();
  expectAddsUp(ranges);
  expect(seen).toEqual(['{"id":9007199254740993}', null, '{"id":9007199254740993}']);
  expect(ranges[0]?.counters).toMatchObject({ ok: 2n, skipped: 1n, deadLettered: 1n });
});

it('does not take a job of a handler that it has not, or that is not idempotent without consent', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('eligible'));
  await produce(topic, messages(3));
  const { handler, delivered } = recordingHandler(undefined, { idempotent: false });
  const unknown = await bench.install({ topic, handler: 'nobody-has-it' });
  const refused = await bench.install({ topic, handler: handler.name });
  const accepted = await bench.install({ topic, handler: handler.name, acceptDuplicates: true });
  await bench.work([handler]);
  expectAddsUp(await accepted.closed());
  expect(delivered).toHaveLength(3);
  for (const job of [unknown, refused])
    expect(await job.ranges()).toMatchObject([{ owner: '', cursor: -1n, status: 'open' }]);
});

it('lets a range go within one call when its job is stopped', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('paused'));
  await produce(topic, messages(50));
  let paused = false;
  const { handler, offsets } = recordingHandler(async (event) => {
    if (event.offset === 9n && !paused) await bench.store.setMode({ jobId: job.jobId, mode: JobMode.halted });
    paused ||= event.offset === 9n;
    return done();
  });
  const job = await bench.install({ topic, handler: handler.name, chunkRecords: 10 });
  const worker = await bench.work([handler]);
  await waitFor(
    'the slot is idle again',
    () => offsets().length > 0 && worker.state.slots.every(({ work }) => work === undefined),
  );
  expect(offsets()).toEqual(numbers(0, 9));
  await bench.store.setMode({ jobId: job.jobId, mode: JobMode.running });
  await job.closed();
  expect(new Set(offsets())).toEqual(new Set(numbers(0, 49)));
});

it('E1: SCRIPT FLUSH all through a job costs nothing', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('e1'));
  await produce(topic, messages(300));
  const redis = new Redis(services().redis);
  const { handler, offsets } = recordingHandler(async (event) => {
    if (event.offset % 20n === 0n) await redis.script('FLUSH');
    return done();
  });
  const job = await bench.install({ topic, handler: handler.name, chunkRecords: 7 });
  await bench.work([handler]);
  const ranges = await job.closed();
  await redis.quit();
  expectAddsUp(ranges);
  expect(offsets()).toEqual(numbers(0, 299));
  expect(ranges[0]?.counters).toMatchObject({ ok: 300n, retries: 0n, maybeRedelivered: 0n });
});

it('parks what fails, retries it from the log, and dead-letters it when its attempts are used up', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('parked'));
  await produce(topic, messages(40));
  const calls: string[] = [];
  const { handler } = recordingHandler(({ offset, value }, { attempt }) => {
    calls.push(`${value}.${attempt}`);
    if (offset === 7n && attempt < 4) throw new Error('flaky');
    if (offset === 21n) throw new Error('never');
    return done();
  });
  const job = await bench.install({ topic, handler: handler.name, chunkRecords: 10, attempts: 4 });
  // The clock stands still until the last one was handled: before that nothing parked is due, however slow the machine is.
  const began = systemClock.now();
  const clock = { now: () => (calls.includes('39.1') ? systemClock.now() : began) };
  await bench.work([handler], { slots: 2, clock });
  const ranges = await job.closed();
  expectAddsUp(ranges);
  expect(ranges).toMatchObject([{ parked: [], counters: { ok: 39n, deadLettered: 1n, parked: 0n, chunks: 4n } }]);
  expect(calls.filter((call) => call.startsWith('7.'))).toEqual(['7.1', '7.2', '7.3', '7.4']);
  expect(calls.indexOf('39.1')).toBeLessThan(calls.indexOf('21.4'));
  const letters = await readAll(bench, `${topic}.dlq`, 0);
  expect(letters.map(({ value }) => String(value))).toEqual(['21']);
});

it.each(['stop', 'skip'] as const)(
  'B1: parked records that retention removed are lost and named, never done (on-lost %s)',
  async (onLost) => {
    const bench = await realBench();
    const topic = await createTopic(uniqueName('b1-parked'));
    await produce(topic, messages(40));
    const { handler } = recordingHandler(async ({ offset }, { attempt }) => {
      if (offset === 39n && attempt === 1) await deleteRecordsBefore(topic, 0, 30n);
      if (offset === 7n || offset === 8n || offset === 21n) throw new Error('flaky');
      return done();
    });
    const job = await bench.install({ topic, handler: handler.name, attempts: 50, onLost });
    await bench.work([handler]);
    const places = [
      { first: 7n, last: 8n },
      { first: 21n, last: 21n },
    ];
    const note = 'OFFSETS_LOST: parked 7-8, 21-21';
    expect(await job.closed()).toMatchObject([
      onLost === 'stop'
        ? { status: 'stopped', cursor: 39n, note, lost: places, passed: [] }
        : { status: 'done', cursor: 39n, lost: [], passed: places, counters: { ok: 37n, lost: 3n, parked: 0n } },
    ]);
  },
);

it('holds no more ranges than the job allows, over two workers', async () => {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('permits'), { partitions: 6 });
  for (const partition of numbers(0, 5)) await produce(topic, messages(40), { partition });
  let most = 0;
  const { handler } = recordingHandler(async () => {
    const held = (await job.ranges()).filter(({ owner }) => owner !== '').length;
    most = Math.max(most, held);
    return done();
  });
  const job = await bench.install({ topic, handler: handler.name, concurrency: 2, chunkRecords: 10 });
  for (const workerId of [uniqueName('w'), uniqueName('w')]) await bench.work([handler], { workerId, slots: 4 });
  expectAddsUp(await job.closed());
  expect(most).toBe(2);
});

async function readAll(bench: Awaited<ReturnType<typeof realBench>>, topic: string, partition: number) {
  const description = await bench.cluster.catalog.describe(topic);
  if (description === undefined) throw new Error(`no topic ${topic}`);
  const end = (await bench.cluster.catalog.offsets(description))[partition]?.highWatermark ?? 0n;
  const reader = bench.cluster.openReader();
  const answer = await reader.read({
    source: { topic, topicId: description.topicId, partition },
    cursor: toOffset(-1),
    end: toOffset(end - 1n),
    recordsMax: 1_000,
    bytesMax: 1_048_576,
    waitMs: 1_000,
  });
  await reader.close();
  if (answer.kind !== 'chunk') throw new Error(`no chunk: ${answer.kind}`);
  return answer.chunk.records;
}
