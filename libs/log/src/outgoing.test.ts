import { createRecordsBatch } from '@platformatic/kafka';
import { TidemarkError } from '@tidemark/keyspace';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BATCH_BYTES_MAX, BATCH_RECORDS_MAX, PRODUCE_REQUEST_BYTES_MAX } from './limits.ts';
import { batchBytesOf, keyText, placeRecord, planRequests } from './outgoing.ts';
import type { OutgoingRecord } from './ports.ts';

const FACTS = { partitionCount: 4, messageBytesMax: 1_000_000 };

function recordOf(valueBytes: number, partition = 0): OutgoingRecord {
  return { topic: 't', partition, key: null, value: Buffer.alloc(valueBytes) };
}

function refusal(act: () => unknown): TidemarkError {
  try {
    act();
  } catch (error) {
    if (error instanceof TidemarkError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('sizing', () => {
  it('is the size that another encoder of the format comes to', () => {
    const bytes = fc.uint8Array({ maxLength: 20_000, size: 'max' }).map((array) => Buffer.from(array));
    const headers = fc.array(fc.tuple(fc.string({ maxLength: 90 }), bytes), { maxLength: 3 });
    fc.assert(
      fc.property(fc.option(bytes), bytes, headers, (key, value, pairs) => {
        const unique = [...new Map(pairs)];
        const own = batchBytesOf({ topic: 't', key, value, headers: unique });
        const message = {
          topic: 't',
          value,
          timestamp: 1n,
          headers: new Map(unique.map(([name, header]) => [Buffer.from(name), header])),
        };
        const peer = createRecordsBatch([key === null ? message : { ...message, key }]);
        expect(own).toBe(peer.length);
      }),
      { numRuns: 60 },
    );
  });

  it('refuses a record that is too large by one byte, naming topic, key and size', () => {
    const fits = { topic: 't', key: Buffer.from('k7'), value: Buffer.alloc(100) };
    const messageBytesMax = batchBytesOf(fits);
    expect(placeRecord(fits, { ...FACTS, messageBytesMax }).batchBytes).toBe(messageBytesMax);
    const error = refusal(() => placeRecord({ ...fits, value: Buffer.alloc(101) }, { ...FACTS, messageBytesMax }));
    expect(error).toMatchObject({
      class: 'data',
      code: 'RECORD_TOO_LARGE',
      context: { topic: 't', key: '"k7"', batchBytes: messageBytesMax + 1 },
    });
    expect(error.message).toContain('"t"');
  });

  it('shows keys that are no text as hex', () => {
    expect([keyText(null), keyText(Buffer.from('a"b')), keyText(Buffer.from([0xff, 0]))]).toEqual([
      'null',
      '"a\\"b"',
      '0xff00',
    ]);
  });
});

describe('placing', () => {
  it('takes the partition of the key, or the given one, and refuses neither and none such', () => {
    expect(placeRecord({ topic: 't', key: Buffer.from('a'), value: null }, FACTS).partition).toBeLessThan(4);
    expect(placeRecord(recordOf(1, 3), FACTS).partition).toBe(3);
    expect(refusal(() => placeRecord(recordOf(1, 4), FACTS))).toMatchObject({
      class: 'data',
      code: 'PARTITION_INVALID',
    });
    expect(refusal(() => placeRecord({ topic: 't', key: null, value: null }, FACTS))).toMatchObject({
      class: 'data',
      code: 'PARTITION_MISSING',
    });
  });
});

describe('cutting into requests', () => {
  it('keeps the order of each partition and every limit', () => {
    const record = fc.tuple(fc.integer({ min: 0, max: 3 }), fc.constantFrom(1, 1_000, 60_000, 300_000, 700_000));
    fc.assert(
      fc.property(fc.array(record, { maxLength: 60 }), (wanted) => {
        const placed = wanted.map(([partition, size]) => placeRecord(recordOf(size, partition), FACTS));
        const requests = planRequests(placed);
        for (const partition of [0, 1, 2, 3]) {
          const order = requests.flat().filter((entry) => entry.partition === partition);
          expect(order).toEqual(placed.filter((entry) => entry.partition === partition));
        }
        for (const request of requests) {
          const total = request.reduce((sum, { batchBytes }) => sum + batchBytes, 0);
          if (request.length > 1) expect(total).toBeLessThanOrEqual(PRODUCE_REQUEST_BYTES_MAX);
          for (const partition of [0, 1, 2, 3]) {
            const batch = request.filter((entry) => entry.partition === partition);
            if (batch.length > 1)
              expect(batch.reduce((sum, { batchBytes }) => sum + batchBytes, 0)).toBeLessThanOrEqual(
                BATCH_BYTES_MAX + batch.length * 61,
              );
            expect(batch.length).toBeLessThanOrEqual(BATCH_RECORDS_MAX);
          }
        }
      }),
    );
  });

  it('cuts by count, and by the limit of the topic when that is lower than ours', () => {
    const many = Array.from({ length: BATCH_RECORDS_MAX + 1 }, () => placeRecord(recordOf(1), FACTS));
    expect(planRequests(many).map((request) => request.length)).toEqual([BATCH_RECORDS_MAX, 1]);
    const small = Array.from({ length: 3 }, () => placeRecord(recordOf(40), { ...FACTS, messageBytesMax: 120 }));
    expect(planRequests(small).map((request) => request.length)).toEqual([1, 1, 1]);
  });
});
