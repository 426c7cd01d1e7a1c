/** What the reader makes of answers that no healthy broker can be asked for: its fetcher is scripted. */
import { crc32c } from '@platformatic/kafka';
import { ErrorClass, TidemarkError, toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { EMPTY_OBSERVATIONS } from '../../limits.ts';
import type { Bytes, ReadRequest } from '../../ports.ts';
import { encodeBatch } from '../../testing/encode-batch.ts';
import type { Fetcher, FetchOrder, FetchOutcome } from './fetcher.ts';
import { silentLogger } from './logger.ts';
import { KafkaReader } from './reader.ts';

const source = { topic: 't', topicId: 'id', partition: 0 };
const NOTHING = Buffer.alloc(0);

interface Script {
  readonly answers: (FetchOutcome | Error)[];
  readonly offsets?: { readonly start?: number; readonly stable: number; readonly high: number };
}

function scripted(script: Script) {
  const orders: FetchOrder[] = [];
  const answers = [...script.answers];
  const { start = 0, stable = 0, high = 0 } = script.offsets ?? {};
  const offsets = {
    partition: 0,
    logStartOffset: toOffset(start),
    lastStableOffset: toOffset(stable),
    highWatermark: toOffset(high),
  };
  const fetcher: Fetcher = {
    fetch: async (order) => {
      orders.push(order);
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (answer === undefined || answer instanceof Error) throw answer ?? new Error('nothing is scripted');
      return answer;
    },
    offsets: async () => ({ kind: 'offsets', offsets }),
    close: async () => undefined,
  };
  return { reader: new KafkaReader(fetcher, silentLogger), orders };
}

function answerOf(batches: Bytes, lastStableOffset: number): FetchOutcome {
  return {
    kind: 'answer',
    partition: { errorCode: 0, lastStableOffset: BigInt(lastStableOffset), aborted: [], batches },
  };
}

function batchOf(first: number, count: number): Bytes {
  const records = Array.from({ length: count }, (_, index) => ({
    offset: BigInt(first + index),
    value: Buffer.from('v'),
  }));
  return encodeBatch({ baseOffset: BigInt(first), records }, (bytes) => crc32c(bytes));
}

function request(cursor: number, end: number, recordsMax = 100): ReadRequest {
  return { source, cursor: toOffset(cursor), end: toOffset(end), recordsMax, bytesMax: 100_000, waitMs: 0 };
}

describe('an answer without a record', () => {
  it('proves a compacted tail only when the broker repeats it', async () => {
    const { reader, orders } = scripted({ answers: [answerOf(NOTHING, 50)], offsets: { stable: 50, high: 50 } });
    expect(await reader.read(request(9, 19))).toEqual({
      kind: 'chunk',
      chunk: { start: 9n, end: 19n, records: [], holes: [{ first: 10n, last: 19n, kind: 'compacted' }], bytes: 0 },
    });
    expect(orders).toHaveLength(EMPTY_OBSERVATIONS);
  });

  it('settles a compacted tail no further than the last stable offset', async () => {
    const { reader } = scripted({ answers: [answerOf(NOTHING, 15)], offsets: { stable: 15, high: 50 } });
    expect(await reader.read(request(9, 19))).toMatchObject({ kind: 'chunk', chunk: { end: 14n } });
  });

  it('is followed by another look when the log says that there is more', async () => {
    const { reader } = scripted({
      answers: [answerOf(NOTHING, 10), answerOf(batchOf(10, 2), 12)],
      offsets: { stable: 12, high: 12 },
    });
    expect(await reader.read(request(9, 11))).toMatchObject({
      kind: 'chunk',
      chunk: { end: 11n, records: [{ offset: 10n }, { offset: 11n }] },
    });
  });

  it('is no proof of anything when it holds a batch that the broker cut off', async () => {
    const { reader } = scripted({
      answers: [answerOf(batchOf(10, 2).subarray(0, 30), 50)],
      offsets: { stable: 50, high: 50 },
    });
    await expect(reader.read(request(9, 19))).rejects.toMatchObject({ class: 'unavailable' });
  });
});

describe('an out-of-range answer', () => {
  it('B1: is asked again when the offsets deny it, a bounded number of times', async () => {
    const once = scripted({
      answers: [{ kind: 'out of range' }, answerOf(batchOf(10, 1), 11)],
      offsets: { stable: 11, high: 11 },
    });
    expect(await once.reader.read(request(9, 10))).toMatchObject({ kind: 'chunk', chunk: { end: 10n } });
    const always = scripted({ answers: [{ kind: 'out of range' }], offsets: { stable: 99, high: 99 } });
    await expect(always.reader.read(request(9, 10))).rejects.toMatchObject({ class: 'unavailable' });
    expect(always.orders.length).toBeLessThanOrEqual(3);
  });
});

describe('reading on', () => {
  it('asks once for what one answer holds, and one answer ahead but never beyond the end', async () => {
    const { reader, orders } = scripted({
      answers: [answerOf(batchOf(0, 4), 100), answerOf(batchOf(4, 4), 100), answerOf(batchOf(8, 4), 100)],
    });
    expect(await reader.read(request(-1, 9, 2))).toMatchObject({ chunk: { end: 1n } });
    expect(orders.map(({ fetchOffset }) => fetchOffset)).toEqual([0n, 4n]);
    for (const [cursor, end] of [
      [1, 3],
      [3, 5],
      [5, 7],
      [7, 9],
    ] as const) {
      expect(await reader.read(request(cursor, 9, 2))).toMatchObject({
        chunk: { start: BigInt(cursor), end: BigInt(end) },
      });
    }
    expect(orders.map(({ fetchOffset }) => fetchOffset)).toEqual([0n, 4n, 8n]);
  });

  it('hands out what it has when the next answer fails, and meets the failure on the next read', async () => {
    const outage = new TidemarkError({ code: 'KAFKA_UNAVAILABLE', class: ErrorClass.unavailable, message: 'scripted' });
    const { reader } = scripted({ answers: [answerOf(batchOf(0, 2), 100), outage] });
    expect(await reader.read(request(-1, 9))).toMatchObject({ kind: 'chunk', chunk: { end: 1n } });
    await expect(reader.read(request(1, 9))).rejects.toBe(outage);
  });

  it('does not use what it holds of another partition', async () => {
    const { reader, orders } = scripted({ answers: [answerOf(batchOf(0, 4), 4)] });
    await reader.read(request(-1, 3, 2));
    await reader.read({ ...request(1, 3, 2), source: { ...source, partition: 1 } });
    expect(orders.map(({ source: asked, fetchOffset }) => [asked.partition, fetchOffset])).toEqual([
      [0, 0n],
      [1, 2n],
    ]);
  });
});
