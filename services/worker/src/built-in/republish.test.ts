/** Replays into another topic by a whole worker, on the in-memory log and store. */
import { classifyFault, type HandlerContext, type HandlerEvent } from '@tidemark/handlers';
import { type Offset, partitionOfKey, TidemarkError, toOffset } from '@tidemark/keyspace';
import { headerText, type LogRecord, type OutgoingRecord } from '@tidemark/log';
import { createMemoryCluster } from '@tidemark/log/testing';
import { waitFor } from '@tidemark/testkit';
import { describe, expect, it } from 'vitest';
import { type MemoryBench, memoryBench } from '../testing/memory-worker.ts';
import { numbers } from '../testing/recording-handler.ts';
import { recordsOf } from '../testing/records-of.ts';
import { copyOf, createRepublish } from './republish.ts';

const context = { jobId: 'job-1', rangeId: '0/-1', token: 't7' } as HandlerContext;
const BINARY = Buffer.from([0, 0xff, 0xfe]);

function event(fields: Partial<HandlerEvent<Buffer | null>>): HandlerEvent<Buffer | null> {
  const place = { topic: 't', topicId: 'id-1', partition: 3, offset: toOffset(7), timestampMs: 1_700_000_000_000n };
  return { ...place, key: BINARY, value: null, headers: [], payload: null, ...fields };
}

describe('copyOf', () => {
  const settings = { topic: 'copy', key: 'keep', partition: 'hash' } as const;

  it('D2: keeps key, value and headers byte by byte, null and repeated names included', () => {
    const headers = [
      ['h', BINARY],
      ['h', null],
    ] as const;
    for (const value of [null, Buffer.alloc(0), Buffer.from('null'), BINARY]) {
      const copy = copyOf(event({ value, headers }), { settings, context, partitionCount: undefined });
      expect(copy).toMatchObject({ topic: 'copy', key: BINARY, value });
      expect(copy.headers?.slice(0, 2)).toEqual(headers);
      expect(copy.timestampMs).toBeUndefined();
      expect(copy.partition).toBeUndefined();
    }
  });

  it('says where the record is from, once, however often it was republished', () => {
    const once = copyOf(event({}), { settings, context, partitionCount: undefined });
    const twice = copyOf(event({ topic: 'copy', topicId: 'id-2', offset: toOffset(9), headers: once.headers ?? [] }), {
      settings,
      context,
      partitionCount: undefined,
    });
    expect(twice.headers?.map(([name, value]) => `${name}=${value}`)).toEqual([
      'tm_origin_topic=copy',
      'tm_origin_topic_id=id-2',
      'tm_origin_partition=3',
      'tm_origin_offset=9',
      'tm_origin_timestamp=1700000000000',
      'tm_origin_job=job-1',
      'tm_origin_range=0/-1',
      'tm_origin_token=t7',
    ]);
  });

  it('names no topic id where nobody knows it, as of a letter that an older worker wrote', () => {
    const { headers } = copyOf(event({ topicId: undefined }), { settings, context, partitionCount: undefined });
    expect(headers?.map(([name]) => name)).toContain('tm_origin_topic');
    expect(headers?.map(([name]) => name)).not.toContain('tm_origin_topic_id');
  });

  it('keeps the partition, or places by key; what has no key stays together', () => {
    const kept = { settings: { ...settings, partition: 'keep' as const }, context, partitionCount: undefined };
    expect(copyOf(event({}), kept).partition).toBe(3);
    expect(copyOf(event({ key: null }), { settings, context, partitionCount: 2 }).partition).toBe(1);
    const keyless = { settings: { ...settings, key: 'none' as const }, context, partitionCount: 2 };
    expect(copyOf(event({}), keyless)).toMatchObject({ key: null, partition: 1 });
  });
});

describe('a target that takes its time', () => {
  const parameters = { topic: 'copy' };

  /** Writes nothing before `open` was called. */
  async function gated(options: Parameters<typeof createRepublish>[1] = {}) {
    const gate = Promise.withResolvers<void>();
    const written: number[] = [];
    const append = async (records: readonly OutgoingRecord[]): Promise<readonly []> => {
      await gate.promise;
      written.push(records.length);
      return [];
    };
    const { catalog } = createMemoryCluster();
    const writer = { append, close: async () => {} };
    const handler = createRepublish({ catalog, openWriter: async () => writer }, options);
    await handler.open?.();
    const write = async (count: number, { signal } = new AbortController()) =>
      await handler.handleBatch?.(
        numbers(1, count).map(() => event({})),
        { ...context, parameters, signal },
      );
    const close = async () => await handler.close?.();
    return { open: gate.resolve, written, write, close };
  }

  it('P5: gets no chunk that waited behind another, when the lease of that was lost meanwhile', async () => {
    const { open, written, write, close } = await gated();
    const lost = new AbortController();
    const [first, second, third] = [write(1), write(2, lost), write(3)];
    const refused = expect(second).rejects.toMatchObject({ name: 'AbortError' });
    lost.abort();
    open();
    await Promise.all([first, refused, third]);
    expect(written).toEqual([1, 3]);
    await close();
  });

  it('P6: is not available, whose records are not at fault; what was given up is not begun later', async () => {
    const { open, written, write, close } = await gated({ patienceMs: 1 });
    for (const result of await Promise.allSettled([write(1), write(2)]))
      expect(classifyFault(result.status === 'rejected' && result.reason)).toMatchObject({
        kind: 'unavailable',
        dependency: 'topic copy',
        message: expect.stringContaining('within 1 ms'),
      });
    open();
    await close();
    expect(written).toEqual([1]);
  });
});

const parameters = { topic: 'copy' };
const republish = { topic: 't', handler: 'republish', acceptDuplicates: true, parameters };

it('B3: names the topic by its id, too, by which records of one that was created again are told apart', async () => {
  const bench = await setUp(1);
  const former = await bench.cluster.catalog.describe('t');
  const first = await bench.install(republish);
  await work(bench);
  await first.closed();
  bench.cluster.recreateTopic('t');
  const later = await bench.cluster.catalog.describe('t');
  await bench.append('t', ['0']);
  await (await bench.install(republish)).closed();
  const copies = await recordsOf(bench.cluster, 'copy');
  expect(originsOf(copies)).toEqual([0, 0]);
  expect(copies.map((copy) => headerText(copy, 'tm_origin_topic_id'))).toEqual([former?.topicId, later?.topicId]);
});

const originsOf = (records: readonly LogRecord[]): readonly number[] =>
  records.map((record) => Number(headerText(record, 'tm_origin_offset')));

async function setUp(count: number, copies: { partitionCount?: number; configs?: Record<string, string> } = {}) {
  const bench = memoryBench();
  bench.cluster.createTopic('t');
  bench.cluster.createTopic('copy', copies);
  await bench.append(
    't',
    numbers(0, count - 1).map((number) => ({ key: `k${number % 5}`, value: String(number) })),
  );
  return bench;
}

const work = (bench: MemoryBench) => bench.work([createRepublish(bench.cluster)]);

it('P10: every record of the window is in the target once, per partition in the order of the source', async () => {
  const bench = await setUp(50, { partitionCount: 3 });
  const job = await bench.install({ ...republish, chunkRecords: 7, start: () => 9n, end: () => 39n });
  await work(bench);
  expect(await job.closed()).toMatchObject([{ counters: { ok: 30n, deadLettered: 0n } }]);
  const partitions = await Promise.all(numbers(0, 2).map((partition) => recordsOf(bench.cluster, 'copy', partition)));
  expect(partitions.flatMap(originsOf).sort((a, b) => a - b)).toEqual(numbers(10, 39));
  for (const [partition, records] of partitions.entries()) {
    expect(originsOf(records)).toEqual(originsOf(records).toSorted((a, b) => a - b));
    for (const { key } of records) expect(partitionOfKey(key ?? BINARY, 3)).toBe(partition);
  }
});

it('P4: a crash after the write repeats that chunk and nothing else, and its copies are known by their origin', async () => {
  const bench = await setUp(30);
  bench.cluster.faults.failNext(
    'append',
    new TidemarkError({ code: 'DOWN', class: 'unavailable', message: 'down' }),
    'after',
  );
  const job = await bench.install({ ...republish, chunkRecords: 10 });
  await work(bench);
  await job.closed();
  const origins = originsOf(await recordsOf(bench.cluster, 'copy'));
  expect(origins).toEqual([...numbers(0, 9), ...numbers(0, 29)]);
});

it('F5: a record that the target refuses as too large is a dead letter, its neighbours are written', async () => {
  const bench = await setUp(3, { configs: { 'max.message.bytes': '500' } });
  await bench.append('t', ['x'.repeat(600), 'after']);
  const job = await bench.install(republish);
  await work(bench);
  expect(await job.closed()).toMatchObject([{ counters: { ok: 4n, deadLettered: 1n } }]);
  expect(originsOf(await recordsOf(bench.cluster, 'copy'))).toEqual([0, 1, 2, 4]);
  const [letter] = await recordsOf(bench.cluster, 't.dlq');
  expect(letter && headerText(letter, 'tm_dlq_error')).toMatch(/topic "copy" .* takes 9\d\d bytes, more than the 500/);
});

it('P6: a target that was deleted under the job is waited for by name, and no record is buried for it', async () => {
  const bench = await setUp(3);
  bench.cluster.deleteTopic('copy');
  const job = await bench.install({ ...republish, parameters: { topic: 'copy', key: 'none' }, attempts: 1 });
  await work(bench);
  const note = async (): Promise<string> => (await job.ranges())[0]?.note ?? '';
  await waitFor('a range that says what it waits for', async () => (await note()).includes('topic copy'));
  bench.cluster.createTopic('copy');
  expect(await job.closed()).toMatchObject([{ counters: { ok: 3n, deadLettered: 0n } }]);
});

it('P6: partitions that the target has not are no fault of the records', async () => {
  const bench = await setUp(0);
  bench.cluster.addPartitions('t', 2);
  await bench.append('t', ['0'], 1);
  const job = await bench.install({ ...republish, parameters: { topic: 'copy', partition: 'keep' }, attempts: 1 });
  await work(bench);
  await waitFor('a range that waits', async () => ((await job.ranges())[1]?.note ?? '').includes('topic copy'));
  bench.cluster.addPartitions('copy', 2);
  expect((await job.closed())[1]).toMatchObject({ counters: { ok: 1n, deadLettered: 0n } });
  const [copied] = await recordsOf(bench.cluster, 'copy', 1);
  expect(copied?.offset satisfies Offset | undefined).toBe(0n);
});
