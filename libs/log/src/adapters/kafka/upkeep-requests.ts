/**
 * The requests of whoever looks after a log for others (protocol guide: OffsetFetch 8, IncrementalAlterConfigs 1,
 * DescribeLogDirs 4 with KIP-827). As in protocol.ts, error codes are part of the answers.
 */
import type { AnswerReader } from './wire/answer-reader.ts';
import type { Api, BrokerConnection } from './wire/broker-connection.ts';

const OFFSET_FETCH: Api = { key: 9, version: 8 };
const DESCRIBE_LOG_DIRS: Api = { key: 35, version: 4 };
const INCREMENTAL_ALTER_CONFIGS: Api = { key: 44, version: 1 };

const TOPIC_RESOURCE = 2;
const SET = 0;

export interface GroupOffset {
  readonly partition: number;
  readonly errorCode: number;
  /** -1 when the group has committed nothing there. */
  readonly offset: bigint;
}

export interface GroupAnswer {
  readonly errorCode: number;
  readonly offsets: readonly GroupOffset[];
}

/**
 * Undefined when the answer does not speak of the group. A commit inside an open transaction does not count yet: what is
 * told is older, and so never too high.
 */
export async function fetchGroupOffsets(
  connection: BrokerConnection,
  {
    group,
    topic,
    partitions,
  }: { readonly group: string; readonly topic: string; readonly partitions: readonly number[] },
): Promise<GroupAnswer | undefined> {
  const answer = await connection.request(OFFSET_FETCH, (body) => {
    body.compactArray([group], (id) => {
      body.compactString(id).compactArray([topic], (name) => {
        body.compactString(name).compactArray(partitions, (partition) => body.int32(partition));
        body.noTaggedFields();
      });
      body.noTaggedFields();
    });
    body.boolean(false).noTaggedFields(); // not to be refused while a transaction is open
  });
  answer.int32(); // throttle time
  const [found] = answer.compactArray(() => {
    answer.compactString(); // group
    const topics = answer.compactArray(() => {
      answer.compactString(); // name
      const offsets = answer.compactArray(() => readGroupOffset(answer));
      answer.skipTaggedFields();
      return offsets;
    });
    const errorCode = answer.int16();
    answer.skipTaggedFields();
    return { errorCode, offsets: topics.flat() };
  });
  return found;
}

function readGroupOffset(answer: AnswerReader): GroupOffset {
  const partition = answer.int32();
  const offset = answer.int64();
  answer.int32(); // leader epoch
  answer.compactNullableString(); // metadata
  const errorCode = answer.int16();
  answer.skipTaggedFields();
  return { partition, errorCode, offset };
}

export interface AlterAnswer {
  readonly errorCode: number;
  readonly message: string;
}

/** Sets these settings of a topic and leaves the others as they are. Undefined when the answer does not speak of it. */
export async function setTopicSettings(
  connection: BrokerConnection,
  topic: string,
  settings: Readonly<Record<string, string>>,
): Promise<AlterAnswer | undefined> {
  const answer = await connection.request(INCREMENTAL_ALTER_CONFIGS, (body) => {
    body.compactArray([topic], (name) => {
      body.int8(TOPIC_RESOURCE).compactString(name);
      body.compactArray(Object.entries(settings), ([setting, value]) => {
        body.compactString(setting).int8(SET).compactString(value).noTaggedFields();
      });
      body.noTaggedFields();
    });
    body.boolean(false).noTaggedFields(); // not only to validate
  });
  answer.int32(); // throttle time
  const [altered] = answer.compactArray(() => {
    const errorCode = answer.int16();
    const message = answer.compactNullableString() ?? '';
    answer.int8(); // resource type
    answer.compactString(); // resource name
    answer.skipTaggedFields();
    return { errorCode, message };
  });
  return altered;
}

export interface DirectoryAnswer {
  readonly errorCode: number;
  readonly directory: string;
  /** -1 when the broker cannot tell. */
  readonly totalBytes: bigint;
  readonly usableBytes: bigint;
  readonly logs: readonly { readonly topic: string; readonly partition: number; readonly bytes: bigint }[];
}

export interface DirectoriesAnswer {
  readonly errorCode: number;
  readonly directories: readonly DirectoryAnswer[];
}

/** Of the broker of the connection. Replicas that are being moved to another directory count in both. */
export async function describeLogDirectories(
  connection: BrokerConnection,
  partitionsOf: ReadonlyMap<string, readonly number[]>,
): Promise<DirectoriesAnswer> {
  const answer = await connection.request(DESCRIBE_LOG_DIRS, (body) => {
    body.compactArray([...partitionsOf], ([topic, partitions]) => {
      body.compactString(topic).compactArray(partitions, (partition) => body.int32(partition));
      body.noTaggedFields();
    });
    body.noTaggedFields();
  });
  answer.int32(); // throttle time
  const errorCode = answer.int16();
  return { errorCode, directories: answer.compactArray(() => readDirectory(answer)) };
}

function readDirectory(answer: AnswerReader): DirectoryAnswer {
  const errorCode = answer.int16();
  const directory = answer.compactString();
  const logs = answer.compactArray(() => {
    const topic = answer.compactString();
    const partitions = answer.compactArray(() => {
      const log = { topic, partition: answer.int32(), bytes: answer.int64() };
      answer.int64(); // lag of a replica that is being moved
      answer.int8(); // is it one
      answer.skipTaggedFields();
      return log;
    });
    answer.skipTaggedFields();
    return partitions;
  });
  const read = { errorCode, directory, totalBytes: answer.int64(), usableBytes: answer.int64(), logs: logs.flat() };
  answer.skipTaggedFields();
  return read;
}
