/** ListOffsets: the only place where offsets that pin a job or convict a log come from. */
import { type Offset, toOffset } from '@tidemark/keyspace';
import type { PartitionOffsets } from '../../ports.ts';
import type { BrokerConnections } from './connections.ts';
import { errorNameOf } from './error-names.ts';
import { unavailable } from './errors.ts';
import { EARLIEST_TIMESTAMP, ErrorCode, IsolationLevel, LATEST_TIMESTAMP, requestOffsets } from './protocol.ts';
import type { PartitionLeader } from './topic-metadata.ts';
import type { Broker } from './wire/broker-connection.ts';

interface Question {
  readonly topic: string;
  readonly isolation: IsolationLevel;
  readonly timestamp: bigint;
}

/**
 * One leader's partitions. The order of the questions matters: the high watermark before the last stable offset (see
 * `verdictOf`), and both on one connection, where the broker answers in order.
 */
export async function listOffsets(
  connections: BrokerConnections,
  topic: string,
  leaders: readonly PartitionLeader[],
): Promise<readonly PartitionOffsets[]> {
  const { readCommitted, readUncommitted } = IsolationLevel;
  const [highWatermarks, lastStableOffsets, logStartOffsets] = await Promise.all([
    askLeaders(connections, { topic, isolation: readUncommitted, timestamp: LATEST_TIMESTAMP }, leaders),
    askLeaders(connections, { topic, isolation: readCommitted, timestamp: LATEST_TIMESTAMP }, leaders),
    askLeaders(connections, { topic, isolation: readUncommitted, timestamp: EARLIEST_TIMESTAMP }, leaders),
  ]);
  return leaders.map(({ partition }) => ({
    partition,
    highWatermark: known(highWatermarks, topic, partition),
    lastStableOffset: known(lastStableOffsets, topic, partition),
    logStartOffset: known(logStartOffsets, topic, partition),
  }));
}

export async function listOffsetsAt(
  connections: BrokerConnections,
  request: { readonly topic: string; readonly timestampMs: bigint },
  leaders: readonly PartitionLeader[],
): Promise<readonly (Offset | undefined)[]> {
  const question = { topic: request.topic, isolation: IsolationLevel.readUncommitted, timestamp: request.timestampMs };
  const found = await askLeaders(connections, question, leaders);
  // The broker says -1 for "no record is that young"; as an offset it would mean the very beginning.
  return leaders.map(({ partition }) =>
    (found.get(partition) ?? -1n) < 0n ? undefined : known(found, request.topic, partition),
  );
}

async function askLeaders(
  connections: BrokerConnections,
  question: Question,
  leaders: readonly PartitionLeader[],
): Promise<Map<number, bigint>> {
  const offsets = new Map<number, bigint>();
  await Promise.all(
    [...byLeader(question.topic, leaders).values()].map(async ({ broker, partitions }) => {
      const answers = await requestOffsets(await connections.to(broker), { ...question, partitions });
      for (const { partition, errorCode, offset } of answers) {
        if (errorCode !== ErrorCode.none)
          throw unavailable(`offsets of ${question.topic}/${partition}: ${errorNameOf(errorCode)}`);
        offsets.set(partition, offset);
      }
    }),
  );
  return offsets;
}

function byLeader(
  topic: string,
  leaders: readonly PartitionLeader[],
): Map<string, { broker: Broker; partitions: PartitionLeader[] }> {
  const groups = new Map<string, { broker: Broker; partitions: PartitionLeader[] }>();
  for (const leader of leaders) {
    if (leader.broker === undefined) throw unavailable(`${topic}/${leader.partition} has no leader at the moment`);
    const key = `${leader.broker.host}:${leader.broker.port}`;
    const group = groups.get(key) ?? { broker: leader.broker, partitions: [] };
    group.partitions.push(leader);
    groups.set(key, group);
  }
  return groups;
}

function known(offsets: ReadonlyMap<number, bigint>, topic: string, partition: number): Offset {
  const offset = offsets.get(partition);
  if (offset === undefined || offset < 0n) throw unavailable(`the broker gave no offset for ${topic}/${partition}`);
  return toOffset(offset);
}
