/** Below what offset the policy of a topic would cut, per partition. */
import { type Offset, offsetMax, toOffset } from '@tidemark/keyspace';
import {
  type LogCatalog,
  type LogReader,
  type PartitionOffsets,
  sampleLowestBytesPerOffset,
  type TopicDescription,
} from '@tidemark/log';
import type { RetentionPolicy } from './policy.ts';

export interface TargetQuestion {
  readonly catalog: LogCatalog;
  readonly reader: LogReader;
  readonly topic: TopicDescription;
  readonly offsets: readonly PartitionOffsets[];
  readonly policy: RetentionPolicy;
  readonly nowMs: number;
}

/** In the order of the offsets. */
export async function policyTargets(question: TargetQuestion): Promise<readonly Offset[]> {
  const { catalog, topic, offsets, policy, nowMs } = question;
  const targets = offsets.map(({ logStartOffset }) => logStartOffset);
  if (policy.ageMs !== undefined) {
    // Everything before the first record that is young enough is older, or out of order among what is older.
    const firsts = await catalog.offsetsAt(topic, BigInt(Math.max(0, nowMs - policy.ageMs)));
    for (const [index, partition] of offsets.entries()) {
      const young = firsts[partition.partition] ?? partition.lastStableOffset;
      targets[index] = offsetMax(targets[index] ?? young, young);
    }
  }
  if (policy.bytes !== undefined) {
    for (const [index, partition] of offsets.entries()) {
      const beyond = await targetByBytes(question, partition, policy.bytes);
      targets[index] = offsetMax(targets[index] ?? beyond, beyond);
    }
  }
  return targets;
}

/** At least so many bytes are kept, as far as the samples tell: what was cut too early cannot be had again. */
async function targetByBytes(question: TargetQuestion, partition: PartitionOffsets, keep: bigint): Promise<Offset> {
  const { logStartOffset, highWatermark } = partition;
  const { topic, topicId } = question.topic;
  const source = { topic, topicId, partition: partition.partition };
  const bytesPerOffset = await sampleLowestBytesPerOffset(question.reader, source, partition);
  if (bytesPerOffset === 0) return logStartOffset;
  const kept = BigInt(Math.ceil(Number(keep) / bytesPerOffset));
  return offsetMax(logStartOffset, toOffset(highWatermark > kept ? highWatermark - kept : 0n));
}
