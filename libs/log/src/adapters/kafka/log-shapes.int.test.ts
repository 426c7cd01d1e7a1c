import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { toOffset } from '@tidemark/keyspace';
import {
  type Compression,
  createTopic,
  FAST_COMPACTION,
  javaFill,
  produce,
  produceTransactions,
  services,
  uniqueName,
  waitFor,
} from '@tidemark/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HoleKind, type LogCluster } from '../../ports.ts';
import { judge } from '../../testing/judge.ts';
import { readAll } from '../../testing/read-all.ts';
import { createKafkaCluster } from './cluster.ts';

const warnings: { readonly event: string; readonly fields: object }[] = [];
let cluster: LogCluster;
beforeAll(() => {
  const logger = {
    debug: () => undefined,
    warn: (fields: object, event: string) => void warnings.push({ fields, event }),
  };
  cluster = createKafkaCluster({ brokers: [services().kafka], clientId: uniqueName('shapes'), logger });
});
afterAll(() => cluster.close());

async function sourceOf(topic: string, partition = 0) {
  const description = await waitFor(`topic ${topic}`, () => cluster.catalog.describe(topic));
  return { topic, topicId: description.topicId, partition };
}

function values(count: number, from = 0) {
  return Array.from({ length: count }, (_, index) => ({ value: String(from + index) }));
}

function digestOf(records: readonly { readonly value: Buffer | null }[]): string {
  const hash = createHash('sha256');
  for (const { value } of records) hash.update(value ?? '');
  return hash.digest('hex');
}

describe('logs of any shape', () => {
  it('A4: compacted gaps, traversed as the console consumer does', async () => {
    const topic = await createTopic(uniqueName('a4'), { configs: FAST_COMPACTION });
    for (let batch = 0; batch < 5; batch++) {
      await produce(
        topic,
        Array.from({ length: 100 }, (_, index) => ({ key: `k${index % 5}`, value: `${batch}-${index}` })),
      );
    }
    await delay(1_100); // segment.ms: the next record opens a new segment, and only closed ones are compacted
    await produce(topic, [{ key: 'k6', value: 'last' }]);
    const source = await sourceOf(topic);
    const read = async () => readAll({ reader: cluster.openReader(), source, end: 500n, recordsMax: 20 });
    await waitFor('the cleaner', async () => (await read()).records.length <= 12, { intervalMs: 500 });
    const { ours, judges, reading, log } = await judge(topic, { recordsMax: 20 });
    expect(ours).toEqual(judges);
    expect(reading.cursor).toBe(log.highWatermark - 1n);
    expect(reading.holes.every(({ kind }) => kind === HoleKind.compacted)).toBe(true);
  });

  it('A4: a compacted log of transactions, aborted ones among them', async () => {
    const topic = await createTopic(uniqueName('a4-tx'), { configs: FAST_COMPACTION });
    const outcomes = ['commit', 'abort', 'commit', 'abort', 'abort', 'commit'] as const;
    const messages = Array.from({ length: 30 }, (_, index) => ({ key: `k${index % 3}`, value: String(index) }));
    await produceTransactions(
      topic,
      outcomes.map((outcome) => ({ outcome, messages })),
    );
    await delay(1_100); // segment.ms, as above
    await produceTransactions(topic, [
      { outcome: 'abort', messages: messages.slice(0, 2) },
      { outcome: 'commit', messages: messages.slice(0, 1) },
    ]);
    const source = await sourceOf(topic);
    const read = async () =>
      readAll({ reader: cluster.openReader(), source, end: 189n, recordsMax: 20, waitMs: 2_000 });
    await waitFor('the cleaner', async () => (await read()).records.length <= 6, { intervalMs: 500 });
    const { ours, judges, reading, log } = await judge(topic, { recordsMax: 2 });
    expect(ours).toEqual(judges);
    expect(reading.cursor).toBe(log.highWatermark - 1n);
  });

  it('A6: a window cuts through a compressed batch, and deleted records of a batch stay deleted', async () => {
    const topic = await createTopic(uniqueName('a6'));
    const oneBatch = { 'batch.size': '200000', 'linger.ms': '500' };
    await javaFill({ topic, records: 1_000, recordBytes: 100, compression: 'gzip', properties: oneBatch });
    const source = await sourceOf(topic);
    const inside = await readAll({ reader: cluster.openReader(), source, cursor: 503n, end: 507n });
    expect(inside.offsets).toEqual([504, 505, 506, 507]);
    await cluster.catalog.deleteRecordsBefore(source, toOffset(995));
    const { ours, judges, log } = await judge(topic);
    expect([log.logStartOffset, ours.map(({ offset }) => offset)]).toEqual([995n, [995n, 996n, 997n, 998n, 999n]]);
    expect(ours).toEqual(judges);
  });

  it('A7: one message above every limit is read alone, and named once', async () => {
    const topic = await createTopic(uniqueName('a7'), { configs: { 'max.message.bytes': String(8 * 1024 * 1024) } });
    await produce(topic, values(20));
    await produce(topic, [{ value: Buffer.alloc(6 * 1024 * 1024, 7) }]);
    await produce(topic, values(20, 21));
    const { offsets, chunks, cursor } = await readAll({
      reader: cluster.openReader(),
      source: await sourceOf(topic),
      end: 40n,
      bytesMax: 1024 * 1024,
    });
    expect([offsets.length, cursor]).toEqual([41, 40n]);
    expect(chunks.find(({ records }) => records[0]?.offset === 20n)?.records).toHaveLength(1);
    const named = warnings.filter(({ fields }) => 'topic' in fields && fields.topic === topic);
    expect(named).toEqual([
      {
        event: 'log.record.oversized',
        fields: { topic, partition: 0, offset: 20n, bytes: 6 * 1024 * 1024, bytesMax: 1024 * 1024 },
      },
    ]);
  });

  it('A5: partitions without a record, and none at all', async () => {
    const topic = await createTopic(uniqueName('a5'), { partitions: 4 });
    await produce(topic, values(2));
    const description = await waitFor('the topic', () => cluster.catalog.describe(topic));
    const ends = (await cluster.catalog.offsets(description)).map(({ highWatermark }) => highWatermark);
    expect(ends).toEqual([2n, 0n, 0n, 0n]);
    const reader = cluster.openReader();
    for (const partition of [0, 1, 2, 3]) {
      const { offsets, stop } = await readAll({ reader, source: await sourceOf(topic, partition), end: 2n, waitMs: 0 });
      expect([offsets, stop?.kind]).toEqual([partition === 0 ? [0, 1] : [], 'end of log']);
    }
    await reader.close();
  });
});

describe('D1: compression of other producers', () => {
  /** Batches above 64 KiB, in which a codec has several blocks. */
  const fill = (topic: string, compression: Compression) =>
    javaFill({
      topic,
      records: 500,
      recordBytes: 2_048,
      compression,
      properties: { 'batch.size': '131072', 'linger.ms': '100' },
    });

  // Six virtual machines, one after the other.
  it('D1: every codec in one log: all values are those that the console consumer prints', {
    timeout: 600_000,
  }, async () => {
    const topic = await createTopic(uniqueName('d1'));
    for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) await fill(topic, compression);
    const { ours, judges, reading } = await judge(topic, { recordsMax: 300 });
    expect([ours.length, reading.cursor]).toEqual([2_500, 2_499n]);
    expect(digestOf(ours)).toBe(digestOf(judges));
  });

  it('D1: a codec that only the topic asks for', async () => {
    const topic = await createTopic(uniqueName('d1-topic'), { configs: { 'compression.type': 'lz4' } });
    await fill(topic, 'none');
    const { ours, judges, reading } = await judge(topic, { recordsMax: 300 });
    expect([ours.length, reading.cursor]).toEqual([500, 499n]);
    expect(digestOf(ours)).toBe(digestOf(judges));
  });
});
