import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placeRecord } from '../../outgoing.ts';
import type { OutgoingRecord, RecordHeaders } from '../../ports.ts';
import { openRecords, readBatchHead, verifyBatch } from '../../record-batch.ts';
import { batchCodecs } from './batch-codecs.ts';
import { type ProduceBody, produceBody } from './produce-body.ts';

type Encode = (request: object) => { encode(): Promise<{ readonly buffer: Buffer }> };
const peer = createRequire(import.meta.url)('kafkajs/src/protocol/requests/produce/v7/request') as Encode;

const FACTS = { partitionCount: 4, messageBytesMax: 10_000_000 };
const NOW_MS = 1_700_000_000_000n;
const PRODUCER = { acks: -1, timeoutMs: 30_000, producerId: 7_000_000_000n, producerEpoch: 3 };

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 100 }),
  fc.uint8Array({ minLength: 50, maxLength: 20_000, size: 'max' }),
);
const buffer = bytes.map((array) => Buffer.from(array));
const timestamp = fc.option(fc.bigInt({ min: NOW_MS - 10n ** 10n, max: NOW_MS + 10n ** 10n }), { nil: undefined });

function bodyOf(records: readonly OutgoingRecord[], transactionalId: string | undefined): ProduceBody {
  const partitions = [...Map.groupBy(records, ({ partition }) => partition ?? 0)].map(([partition, of]) => ({
    partition,
    firstSequence: 10 + partition,
    records: of.map((record) => placeRecord(record, FACTS)),
  }));
  return { ...PRODUCER, transactionalId, topics: [{ topic: 'töpic', partitions }], nowMs: NOW_MS };
}

/** The only batch of a body with one topic and one partition. */
function batchOf(body: ProduceBody): Buffer {
  const begin = 2 + (body.transactionalId?.length ?? 0) + 2 + 4 + 4 + (2 + Buffer.byteLength('töpic')) + 4 + 4 + 4;
  return produceBody(body, batchCodecs.checksum).subarray(begin);
}

describe('the body of a produce request', () => {
  it('is to the byte what kafkajs itself writes', async () => {
    const headers = fc.uniqueArray(fc.tuple(fc.string({ maxLength: 90 }), buffer), {
      maxLength: 4,
      // An object keeps names that are numbers in another order.
      selector: ([name]) => name,
    });
    const record = fc.record({
      partition: fc.integer({ min: 0, max: 3 }),
      key: fc.option(buffer),
      value: fc.option(buffer),
      headers: headers.map((pairs) => pairs.filter(([name]) => !/^\d+$/.test(name) && name !== '__proto__')),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1, maxLength: 30 }),
        fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
        fc.boolean(),
        async (records, transactionalId, timed) => {
          const own = records.map((one) => ({ topic: 'töpic', ...one, ...(timed ? { timestampMs: NOW_MS } : {}) }));
          const body = bodyOf(own, transactionalId);
          const topicData = body.topics.map(({ topic, partitions }) => ({
            topic,
            partitions: partitions.map((batch) => ({
              ...batch,
              messages: batch.records.map(({ record: { key, value, headers: pairs } }) => ({
                key,
                value,
                headers: Object.fromEntries(pairs ?? []),
                timestamp: NOW_MS.toString(),
              })),
            })),
          }));
          const request = { ...PRODUCER, timeout: PRODUCER.timeoutMs, transactionalId, topicData };
          const theirs = await peer({ ...request, producerId: PRODUCER.producerId.toString() }).encode();
          expect(produceBody(body, batchCodecs.checksum).equals(theirs.buffer)).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('says what kafkajs cannot: headers that are null or come twice, and times of some records only', () => {
    const headers = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'ä'), fc.option(buffer)), { maxLength: 5 });
    const record = fc.record({ key: fc.option(buffer), value: fc.option(buffer), headers, timestampMs: timestamp });
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 200 }), (records) => {
        const sent = records.map(({ timestampMs, ...one }) => ({
          topic: 't',
          partition: 0,
          ...one,
          ...(timestampMs === undefined ? {} : { timestampMs }),
        }));
        const batch = batchOf(bodyOf(sent, 'id'));
        const head = readBatchHead(batch, 0);
        if (head === undefined) throw new Error('the batch is cut');
        verifyBatch(batch, head, batchCodecs);
        expect(head).toMatchObject({ end: batch.length, recordCount: records.length, transactional: true });
        const cursor = openRecords(batch, head, batchCodecs);
        const read = records.map(() => cursor.next());
        expect(read).toEqual(
          records.map(({ key, value, headers: pairs, timestampMs }, index) => ({
            offset: BigInt(index),
            timestampMs: timestampMs ?? NOW_MS,
            key,
            value,
            headers: pairs satisfies RecordHeaders,
          })),
        );
        const times = read.map((one) => one?.timestampMs ?? 0n).sort((a, b) => (a < b ? -1 : 1));
        expect([head.baseTimestampMs, head.maxTimestampMs]).toEqual([times[0], times.at(-1)]);
      }),
      { numRuns: 40 },
    );
  });
});
