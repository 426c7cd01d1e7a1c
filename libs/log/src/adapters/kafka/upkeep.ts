/** What groups have committed, settings that are set one by one, and the disks under the logs. */
import { type Offset, toOffset } from '@tidemark/keyspace';
import type { LogDisk, TopicDescription } from '../../ports.ts';
import type { BrokerConnections } from './connections.ts';
import { errorNameOf } from './error-names.ts';
import { configError, topicNotFound, unavailable } from './errors.ts';
import { ErrorCode, requestMetadata } from './protocol.ts';
import { CoordinatorKey, findCoordinator } from './transaction-requests.ts';
import { describeLogDirectories, fetchGroupOffsets, setTopicSettings } from './upkeep-requests.ts';

/** By partition; undefined where the group has committed nothing. */
export async function committedOffsetsOf(
  connections: BrokerConnections,
  group: string,
  { topic, partitionCount }: TopicDescription,
): Promise<readonly (Offset | undefined)[]> {
  const what = `the committed offsets of group ${group}`;
  const coordinator = await findCoordinator(await connections.any(), group, CoordinatorKey.group);
  check(coordinator?.errorCode, what, 'READ of the group');
  if (coordinator === undefined) throw unavailable(`group ${group} has no coordinator at the moment`);
  const partitions = Array.from({ length: partitionCount }, (_, partition) => partition);
  const connection = await connections.to(coordinator.broker);
  const answer = await fetchGroupOffsets(connection, { group, topic, partitions });
  check(answer?.errorCode, what, 'READ of the group');
  const committed: (Offset | undefined)[] = partitions.map(() => undefined);
  for (const { partition, errorCode, offset } of answer?.offsets ?? []) {
    check(errorCode, `${what} in ${topic}/${partition}`, 'DESCRIBE of the topic');
    if (offset >= 0n) committed[partition] = toOffset(offset);
  }
  return committed;
}

export async function changeSettingsOf(
  connections: BrokerConnections,
  topic: string,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const answer = await setTopicSettings(await connections.any(), topic, settings);
  if (answer?.errorCode === ErrorCode.unknownTopicOrPartition) throw topicNotFound(topic);
  if (answer !== undefined && REFUSALS.has(answer.errorCode))
    throw configError('KAFKA_REFUSED', `the settings of topic "${topic}": ${answer.message}`, { topic });
  check(answer?.errorCode, `the settings of topic "${topic}"`, 'ALTER_CONFIGS of the topic');
}

const REFUSALS: ReadonlySet<number> = new Set([
  ErrorCode.invalidRequest,
  ErrorCode.invalidConfig,
  ErrorCode.policyViolation,
]);

/** Of every broker that answers for the cluster, those directories that hold something of the topics. */
export async function disksUnder(
  connections: BrokerConnections,
  topics: readonly TopicDescription[],
): Promise<readonly LogDisk[]> {
  const [first] = topics;
  if (first === undefined) return [];
  const { brokers } = await requestMetadata(await connections.any(), first.topic);
  const partitionsOf = new Map(
    topics.map(({ topic, partitionCount }) => [topic, Array.from({ length: partitionCount }, (_, index) => index)]),
  );
  const disks: LogDisk[] = [];
  for (const [broker, address] of brokers) {
    const { errorCode, directories } = await describeLogDirectories(await connections.to(address), partitionsOf);
    check(errorCode, `the directories of broker ${broker}`, 'DESCRIBE of the cluster');
    for (const { errorCode: fault, directory, totalBytes, usableBytes, logs } of directories) {
      check(fault, `directory ${directory} of broker ${broker}`, 'DESCRIBE of the cluster');
      if (logs.length > 0 && usableBytes >= 0n) disks.push({ broker, directory, totalBytes, usableBytes, logs });
    }
  }
  return disks;
}

const FORBIDDEN: ReadonlySet<number> = new Set([
  ErrorCode.topicAuthorizationFailed,
  ErrorCode.groupAuthorizationFailed,
  ErrorCode.clusterAuthorizationFailed,
]);

function check(code: number | undefined, what: string, right: string): void {
  if (code === ErrorCode.none) return;
  if (code !== undefined && FORBIDDEN.has(code))
    throw configError('KAFKA_FORBIDDEN', `${what}: this client may not, it needs ${right}`);
  throw unavailable(`${what}: ${code === undefined ? 'no answer' : errorNameOf(code)}`);
}
