/** Topics and their leaders, asked from any broker. */
import type { TopicDescription } from '../../ports.ts';
import type { BrokerConnections } from './connections.ts';
import { errorNameOf } from './error-names.ts';
import { configError, unavailable } from './errors.ts';
import { ErrorCode, requestMetadata } from './protocol.ts';
import type { Broker } from './wire/broker-connection.ts';

export interface PartitionLeader {
  readonly partition: number;
  /** Undefined while an election is on. */
  readonly broker: Broker | undefined;
  readonly leaderEpoch: number;
}

export interface TopicMetadata extends TopicDescription {
  readonly leaders: readonly PartitionLeader[];
}

/** Undefined when the answering broker knows no such topic. Throws when no broker answers. */
export async function fetchTopicMetadata(
  connections: BrokerConnections,
  topic: string,
): Promise<TopicMetadata | undefined> {
  const { topic: found, brokers } = await requestMetadata(await connections.any(), topic);
  if (found === undefined || found.errorCode === ErrorCode.unknownTopicOrPartition) return undefined;
  if (found.errorCode === ErrorCode.invalidTopic)
    throw configError('TOPIC_NAME_INVALID', `"${topic}" is not a legal topic name`, { topic });
  if (found.errorCode === ErrorCode.topicAuthorizationFailed) {
    throw configError('TOPIC_FORBIDDEN', `this client may not describe topic "${topic}"`, { topic });
  }
  // A partition without a leader also marks its topic; that is for the caller to wait for, as long as the list is there.
  if (found.partitions.length === 0) throw unavailable(`topic "${topic}": ${errorNameOf(found.errorCode)}`);
  const leaders = found.partitions
    .map(({ partition, leaderId, leaderEpoch }) => ({ partition, broker: brokers.get(leaderId), leaderEpoch }))
    .sort((a, b) => a.partition - b.partition);
  return { topic, topicId: found.topicId, partitionCount: leaders.length, leaders };
}
