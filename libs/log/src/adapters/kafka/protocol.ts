/**
 * The three requests that reading needs (protocol guide: Fetch 17, ListOffsets 9, Metadata 12). Answers are returned with
 * their error codes inside instead of thrown, because here an error code is what decides the next step. Fetch hands out
 * the raw batches.
 */
import type { AbortedTransaction } from '../../committed.ts';
import type { Bytes, Source } from '../../ports.ts';
import type { AnswerReader } from './wire/answer-reader.ts';
import type { Api, Broker, BrokerConnection } from './wire/broker-connection.ts';

const FETCH: Api = { key: 1, version: 17 };
const LIST_OFFSETS: Api = { key: 2, version: 9 };
const METADATA: Api = { key: 3, version: 12 };

export const ErrorCode = {
  none: 0,
  offsetOutOfRange: 1,
  corruptMessage: 2,
  unknownTopicOrPartition: 3,
  invalidTopic: 17,
  topicAuthorizationFailed: 29,
  groupAuthorizationFailed: 30,
  clusterAuthorizationFailed: 31,
  invalidConfig: 40,
  invalidRequest: 42,
  policyViolation: 44,
  transactionalIdAuthorizationFailed: 53,
  unsupportedCompressionType: 76,
  unknownTopicId: 100,
  inconsistentTopicId: 103,
  transactionalIdNotFound: 105,
} as const;

export const IsolationLevel = { readUncommitted: 0, readCommitted: 1 } as const;
export type IsolationLevel = (typeof IsolationLevel)[keyof typeof IsolationLevel];

/** Timestamps of ListOffsets that stand for something else. */
export const EARLIEST_TIMESTAMP = -2n;
export const LATEST_TIMESTAMP = -1n;

const CONSUMER_REPLICA_ID = -1;
/** A fetch without a session: the broker keeps no state for it. */
const NO_SESSION = 0;
const FINAL_EPOCH = -1;
const NO_EPOCH = -1;
/** Followers tell the start of their own log here. */
const NOT_A_FOLLOWER = -1n;
const NO_RACK = '';
/** An answer with anything at all is sent at once. */
const BYTES_MIN = 1;
/** Replicas, those in sync, those offline. */
const BROKER_LISTS = 3;

export interface RawAnswer {
  readonly errorCode: number;
  /** The partition is missing from a throttled answer. */
  readonly partition: RawPartition | undefined;
}

export interface RawPartition {
  readonly errorCode: number;
  readonly lastStableOffset: bigint;
  readonly aborted: readonly AbortedTransaction[];
  /** Record batches one after another, the last one perhaps cut off. */
  readonly batches: Bytes;
}

const NO_BATCHES: Bytes = Buffer.alloc(0);

export interface FetchRequest {
  readonly source: Source;
  readonly leaderEpoch: number;
  readonly fetchOffset: bigint;
  readonly bytesMax: number;
  readonly waitMs: number;
  /** Default: read committed. */
  readonly isolation?: IsolationLevel;
}

/** Asks for one partition. */
export async function fetchBatches(connection: BrokerConnection, request: FetchRequest): Promise<RawAnswer> {
  const { source, leaderEpoch, fetchOffset, bytesMax, waitMs, isolation = IsolationLevel.readCommitted } = request;
  const answer = await connection.request(FETCH, (body) => {
    body.int32(waitMs).int32(BYTES_MIN).int32(bytesMax).int8(isolation);
    body.int32(NO_SESSION).int32(FINAL_EPOCH);
    body.compactArray([source], ({ topicId, partition }) => {
      body.uuid(topicId).compactArray([partition], () => {
        body.int32(partition).int32(leaderEpoch).int64(fetchOffset).int32(NO_EPOCH).int64(NOT_A_FOLLOWER);
        body.int32(bytesMax).noTaggedFields();
      });
      body.noTaggedFields();
    });
    body.compactArray([], () => undefined); // topics that a session forgets
    body.compactString(NO_RACK).noTaggedFields();
  });
  answer.int32(); // throttle time
  const errorCode = answer.int16();
  answer.int32(); // session id
  const topics = answer.compactArray(() => {
    answer.uuid();
    const partitions = answer.compactArray(() => readPartition(answer));
    answer.skipTaggedFields();
    return partitions;
  });
  return { errorCode, partition: topics[0]?.[0] };
}

function readPartition(answer: AnswerReader): RawPartition {
  answer.int32(); // partition
  const errorCode = answer.int16();
  answer.int64(); // high watermark: after an election it may be too low, so nothing is decided by it
  const lastStableOffset = answer.int64();
  answer.int64(); // log start offset
  const aborted = answer.compactArray(() => {
    const transaction = { producerId: answer.int64(), firstOffset: answer.int64() };
    answer.skipTaggedFields();
    return transaction;
  });
  answer.int32(); // preferred read replica
  const batches = answer.compactNullableBytes() ?? NO_BATCHES;
  answer.skipTaggedFields();
  return { errorCode, lastStableOffset, aborted, batches };
}

export interface TopicAnswer {
  readonly brokers: ReadonlyMap<number, Broker>;
  /** Undefined when the broker says nothing of the topic, not even an error. */
  readonly topic:
    | { readonly errorCode: number; readonly topicId: string; readonly partitions: readonly PartitionAnswer[] }
    | undefined;
}

export interface PartitionAnswer {
  readonly partition: number;
  readonly leaderId: number;
  readonly leaderEpoch: number;
}

/** Never with leave to create the topic: asking about a deleted topic must not bring it back. */
export async function requestMetadata(connection: BrokerConnection, topic: string): Promise<TopicAnswer> {
  const answer = await connection.request(METADATA, (body) => {
    body.compactArray([topic], (name) => body.uuid(undefined).compactString(name).noTaggedFields());
    body.boolean(false).boolean(false).noTaggedFields(); // may be created, authorized operations
  });
  answer.int32(); // throttle time
  const brokers = answer.compactArray(() => {
    const entry = [answer.int32(), { host: answer.compactString(), port: answer.int32() }] as const;
    answer.compactNullableString(); // rack
    answer.skipTaggedFields();
    return entry;
  });
  answer.compactNullableString(); // cluster id
  answer.int32(); // controller
  const topics = answer.compactArray(() => readTopic(answer));
  return { brokers: new Map(brokers), topic: topics[0] };
}

function readTopic(answer: AnswerReader): NonNullable<TopicAnswer['topic']> {
  const errorCode = answer.int16();
  answer.compactNullableString(); // name
  const topicId = answer.uuid();
  answer.int8(); // internal
  const partitions = answer.compactArray(() => {
    answer.int16(); // error code; a partition without a leader names none, which says enough
    const partition = { partition: answer.int32(), leaderId: answer.int32(), leaderEpoch: answer.int32() };
    for (let lists = 0; lists < BROKER_LISTS; lists++) answer.compactArray(() => answer.int32());
    answer.skipTaggedFields();
    return partition;
  });
  answer.int32(); // authorized operations
  answer.skipTaggedFields();
  return { errorCode, topicId, partitions };
}

export interface ListOffsetsRequest {
  readonly topic: string;
  readonly isolation: IsolationLevel;
  readonly timestamp: bigint;
  readonly partitions: readonly { readonly partition: number; readonly leaderEpoch: number }[];
}

export interface OffsetAnswer {
  readonly partition: number;
  readonly errorCode: number;
  readonly offset: bigint;
}

export async function requestOffsets(
  connection: BrokerConnection,
  { topic, isolation, timestamp, partitions }: ListOffsetsRequest,
): Promise<readonly OffsetAnswer[]> {
  const answer = await connection.request(LIST_OFFSETS, (body) => {
    body.int32(CONSUMER_REPLICA_ID).int8(isolation);
    body.compactArray([topic], (name) => {
      body.compactString(name).compactArray(partitions, ({ partition, leaderEpoch }) => {
        body.int32(partition).int32(leaderEpoch).int64(timestamp).noTaggedFields();
      });
      body.noTaggedFields();
    });
    body.noTaggedFields();
  });
  answer.int32(); // throttle time
  const topics = answer.compactArray(() => {
    answer.compactString(); // name
    const offsets = answer.compactArray(() => readOffset(answer));
    answer.skipTaggedFields();
    return offsets;
  });
  return topics[0] ?? [];
}

function readOffset(answer: AnswerReader): OffsetAnswer {
  const partition = answer.int32();
  const errorCode = answer.int16();
  answer.int64(); // timestamp
  const offset = answer.int64();
  answer.int32(); // leader epoch
  answer.skipTaggedFields();
  return { partition, errorCode, offset };
}
