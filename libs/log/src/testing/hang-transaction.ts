/**
 * Makes a transaction hang: its batches are written under the transactional id's producer, and its coordinator is never told
 * of the partitions (the flaw that KIP-890 describes). Only for a broker that does not verify them: see `HANGING_ALLOWED`.
 */
import { batchCodecs } from '../adapters/kafka/batch-codecs.ts';
import { type Broker, BrokerConnection } from '../adapters/kafka/wire/broker-connection.ts';
import type { OutgoingRecord, TransactionalProducer } from '../ports.ts';
import { encodeBatch } from './encode-batch.ts';

export const HANGING_ALLOWED: Readonly<Record<string, string>> = {
  'transaction.partition.verification.enable': 'false',
};

const INIT_PRODUCER_ID = { key: 22, version: 4 };
const PRODUCE = { key: 0, version: 9 };
const TIMEOUT_MS = 15_000;

/** Every record names its partition. The session of the id that was the newest is fenced. */
export async function hangTransaction(
  kafka: string,
  transactionalId: string,
  records: readonly OutgoingRecord[],
): Promise<void> {
  const [host = '', port] = kafka.split(':');
  const broker: Broker = { host, port: Number(port) };
  const connection = new BrokerConnection(broker, 'hang-transaction');
  try {
    await connection.connected;
    const producer = await newSession(connection, transactionalId);
    const groups = Map.groupBy(records, ({ topic, partition = 0 }) => `${partition}:${topic}`);
    for (const group of groups.values()) await produce(connection, { transactionalId, producer, records: group });
  } finally {
    await connection.close();
  }
}

async function newSession(connection: BrokerConnection, transactionalId: string): Promise<TransactionalProducer> {
  for (;;) {
    const answer = await connection.request(INIT_PRODUCER_ID, (body) => {
      body.compactString(transactionalId).int32(TIMEOUT_MS).int64(-1n).int16(-1).noTaggedFields();
    });
    answer.int32(); // throttle time
    const code = answer.int16();
    const producer = { producerId: answer.int64(), producerEpoch: answer.int16() };
    if (code === 0) return producer;
    if (code !== CONCURRENT_TRANSACTIONS) throw new Error(`InitProducerId was answered with error ${code}`);
  }
}

/** The one before is being completed. */
const CONCURRENT_TRANSACTIONS = 51;

async function produce(
  connection: BrokerConnection,
  {
    transactionalId,
    producer,
    records,
  }: {
    readonly transactionalId: string;
    readonly producer: TransactionalProducer;
    readonly records: readonly OutgoingRecord[];
  },
): Promise<void> {
  const { topic = '', partition = 0 } = records[0] ?? {};
  const timestampMs = BigInt(Date.now());
  const batch = encodeBatch(
    {
      baseOffset: 0n,
      baseTimestampMs: timestampMs,
      ...producer,
      transactional: true,
      records: records.map(({ key, value, headers = [] }, index) => {
        return { offset: BigInt(index), timestampMs, key, value, headers };
      }),
    },
    batchCodecs.checksum,
  );
  const answer = await connection.request(PRODUCE, (body) => {
    body.compactString(transactionalId).int16(-1).int32(TIMEOUT_MS);
    body.compactArray([topic], (name) => {
      body.compactString(name).compactArray([partition], (index) => {
        body.int32(index).compactBytes(batch).noTaggedFields();
      });
      body.noTaggedFields();
    });
    body.noTaggedFields();
  });
  const [code] = answer.compactArray(() => {
    answer.compactString(); // topic
    const [first] = answer.compactArray(() => {
      answer.int32(); // partition
      const errorCode = answer.int16();
      answer.int64(); // base offset
      answer.int64(); // append time
      answer.int64(); // log start offset
      answer.compactArray(() => undefined); // errors of records
      answer.compactNullableString(); // error message
      answer.skipTaggedFields();
      return errorCode;
    });
    answer.skipTaggedFields();
    return first;
  });
  if (code !== 0) throw new Error(`Produce to ${topic}/${partition} was answered with error ${code}`);
}
