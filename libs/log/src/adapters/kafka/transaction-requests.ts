/**
 * The requests that look at transactions and end them (protocol guide: DescribeProducers 0, DescribeTransactions 0,
 * FindCoordinator 4, WriteTxnMarkers 1). As in protocol.ts, error codes are part of the answers.
 */
import type { OngoingTransaction, TransactionOutcome } from '../../ports.ts';
import type { AnswerReader } from './wire/answer-reader.ts';
import type { Api, Broker, BrokerConnection } from './wire/broker-connection.ts';

const FIND_COORDINATOR: Api = { key: 10, version: 4 };
const WRITE_MARKERS: Api = { key: 27, version: 1 };
const DESCRIBE_PRODUCERS: Api = { key: 61, version: 0 };
const DESCRIBE_TRANSACTIONS: Api = { key: 65, version: 0 };

/** What the id given to `findCoordinator` names. */
export const CoordinatorKey = { group: 0, transaction: 1 } as const;
export type CoordinatorKey = (typeof CoordinatorKey)[keyof typeof CoordinatorKey];

export interface ProducersAnswer {
  readonly topic: string;
  readonly partition: number;
  readonly errorCode: number;
  readonly producers: readonly ProducerState[];
}

interface ProducerState {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly coordinatorEpoch: number;
  /** -1 when no transaction is open. */
  readonly firstOffset: bigint;
}

export async function describeProducers(
  connection: BrokerConnection,
  partitionsOf: ReadonlyMap<string, readonly number[]>,
): Promise<readonly ProducersAnswer[]> {
  const answer = await connection.request(DESCRIBE_PRODUCERS, (body) => {
    body.compactArray([...partitionsOf], ([topic, partitions]) => {
      body.compactString(topic).compactArray(partitions, (partition) => body.int32(partition));
      body.noTaggedFields();
    });
    body.noTaggedFields();
  });
  answer.int32(); // throttle time
  return answer
    .compactArray(() => {
      const topic = answer.compactString();
      const partitions = answer.compactArray(() => ({ topic, ...readProducers(answer) }));
      answer.skipTaggedFields();
      return partitions;
    })
    .flat();
}

function readProducers(answer: AnswerReader): Omit<ProducersAnswer, 'topic'> {
  const partition = answer.int32();
  const errorCode = answer.int16();
  answer.compactNullableString(); // error message
  const producers = answer.compactArray(() => {
    const producerId = answer.int64();
    const producerEpoch = answer.int32();
    answer.int32(); // last sequence
    answer.int64(); // last timestamp
    const state = { producerId, producerEpoch, coordinatorEpoch: answer.int32(), firstOffset: answer.int64() };
    answer.skipTaggedFields();
    return state;
  });
  answer.skipTaggedFields();
  return { partition, errorCode, producers };
}

export interface CoordinatorAnswer {
  readonly errorCode: number;
  readonly broker: Broker;
}

/** Undefined when the answer does not speak of the id. */
export async function findCoordinator(
  connection: BrokerConnection,
  id: string,
  kind: CoordinatorKey,
): Promise<CoordinatorAnswer | undefined> {
  const answer = await connection.request(FIND_COORDINATOR, (body) => {
    body.int8(kind).compactArray([id], (each) => body.compactString(each));
    body.noTaggedFields();
  });
  answer.int32(); // throttle time
  const [coordinator] = answer.compactArray(() => {
    answer.compactString(); // key
    answer.int32(); // node id
    const broker = { host: answer.compactString(), port: answer.int32() };
    const errorCode = answer.int16();
    answer.compactNullableString(); // error message
    answer.skipTaggedFields();
    return { errorCode, broker };
  });
  return coordinator;
}

export interface TransactionAnswer {
  readonly errorCode: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

export async function describeTransaction(
  connection: BrokerConnection,
  transactionalId: string,
): Promise<TransactionAnswer | undefined> {
  const answer = await connection.request(DESCRIBE_TRANSACTIONS, (body) => {
    body.compactArray([transactionalId], (id) => body.compactString(id)).noTaggedFields();
  });
  answer.int32(); // throttle time
  const [described] = answer.compactArray(() => {
    const errorCode = answer.int16();
    answer.compactString(); // transactional id
    answer.compactString(); // state
    answer.int32(); // time-out
    answer.int64(); // begin
    const producer = { errorCode, producerId: answer.int64(), producerEpoch: answer.int16() };
    answer.compactArray(() => {
      answer.compactString(); // topic
      answer.compactArray(() => answer.int32());
      answer.skipTaggedFields();
    });
    answer.skipTaggedFields();
    return producer;
  });
  return described;
}

/** The error code of the one partition; undefined when the answer does not speak of it. */
export async function writeMarker(
  connection: BrokerConnection,
  { topic, partition, producerId, producerEpoch, coordinatorEpoch }: OngoingTransaction,
  outcome: TransactionOutcome,
): Promise<number | undefined> {
  const answer = await connection.request(WRITE_MARKERS, (body) => {
    body.compactArray([outcome], () => {
      body
        .int64(producerId)
        .int16(producerEpoch)
        .boolean(outcome === 'commit');
      body.compactArray([topic], (name) => {
        body.compactString(name).compactArray([partition], (index) => body.int32(index));
        body.noTaggedFields();
      });
      // As Apache's own tool does: a producer without a marker here has no coordinator to be older than.
      body.int32(Math.max(coordinatorEpoch, 0)).noTaggedFields();
    });
    body.noTaggedFields();
  });
  const codes = answer.compactArray(() => {
    answer.int64(); // producer id
    const topics = answer.compactArray(() => readMarkerCodes(answer));
    answer.skipTaggedFields();
    return topics.flat();
  });
  return codes.flat()[0];
}

function readMarkerCodes(answer: AnswerReader): readonly number[] {
  answer.compactString(); // topic
  const codes = answer.compactArray(() => {
    answer.int32(); // partition
    const errorCode = answer.int16();
    answer.skipTaggedFields();
    return errorCode;
  });
  answer.skipTaggedFields();
  return codes;
}
