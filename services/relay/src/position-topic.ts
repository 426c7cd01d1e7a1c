/** The topic that holds positions: one compacted partition, the key is the relay's name. */
import { type Codec, readRecord, SchemaName } from '@tidemark/contracts';
import { type LogCluster, type OutgoingRecord, scanTopic, type TopicDescription, type TopicSpec } from '@tidemark/log';
import { positionOfRecord, positionTopicOf, recordFieldsOf, type Snapshot, snapshotText } from '@tidemark/outbox';
import type { Progress } from './batches.ts';
import { parkedKeysOf } from './parked-keys.ts';

/** A start reads it whole, so its segments are small and compaction comes within the hour. */
export function positionTopicSpec(namespace: string, replicationFactor: number): TopicSpec {
  return {
    topic: positionTopicOf(namespace),
    partitionCount: 1,
    replicationFactor,
    configs: {
      'cleanup.policy': 'compact',
      'segment.bytes': String(16 * 1024 * 1024),
      'max.compaction.lag.ms': '3600000',
    },
  };
}

export interface StoredPosition extends Progress {
  /** Topics published to, with the partition count that keys were spread over. */
  readonly partitionCounts: Readonly<Record<string, number>>;
  readonly partitioner: string;
}

/**
 * The newest committed position below the high watermark of this moment. To be called after older sessions are fenced:
 * then nothing can be added behind it, and a transaction that is still being completed is waited for.
 */
export async function readPosition(
  cluster: LogCluster,
  codec: Codec,
  { topic, relay, signal }: { readonly topic: TopicDescription; readonly relay: string; readonly signal: AbortSignal },
): Promise<StoredPosition | undefined> {
  let newest: Buffer | null = null;
  await scanTopic({
    cluster,
    topic,
    signal,
    visit(record) {
      if (record.key?.toString() === relay) newest = record.value;
    },
  });
  return newest === null ? undefined : positionFromBytes(codec, newest);
}

/** When the relay said that everything visible in the snapshot is published; undefined when that is not in the topic any more. */
export async function timeOfSnapshot(
  cluster: LogCluster,
  codec: Codec,
  {
    topic,
    relay,
    snapshot,
    signal,
  }: {
    readonly topic: TopicDescription;
    readonly relay: string;
    readonly snapshot: Snapshot;
    readonly signal: AbortSignal;
  },
): Promise<bigint | undefined> {
  const text = snapshotText(snapshot);
  let first: bigint | undefined;
  await scanTopic({
    cluster,
    topic,
    signal,
    async visit({ key, value, timestampMs }) {
      // Most records are told apart by their bytes, without decoding.
      if (first !== undefined || key?.toString() !== relay || value?.includes(text) !== true) return;
      const { position } = await positionFromBytes(codec, value);
      if (position.window === undefined && snapshotText(position.snapshot) === text) first = timestampMs;
    },
  });
  return first;
}

export async function positionFromBytes(codec: Codec, bytes: Buffer): Promise<StoredPosition> {
  const record = readRecord(await codec.decode(bytes), SchemaName.relayPosition);
  return {
    position: positionOfRecord(record),
    parked: parkedKeysOf(record.parked),
    partitionCounts: record.partitionCounts,
    partitioner: record.partitioner,
  };
}

export async function positionRecord(
  codec: Codec,
  stored: StoredPosition,
  { topic, relay, atMs }: { readonly topic: string; readonly relay: string; readonly atMs: bigint },
): Promise<OutgoingRecord> {
  const value = await codec.encode(SchemaName.relayPosition, {
    // A program that knows no parked keys would forget them; without any, it may take over.
    formatVersion: stored.parked.size === 0 ? 1 : 2,
    relay,
    ...recordFieldsOf(stored.position),
    partitionCounts: stored.partitionCounts,
    partitioner: stored.partitioner,
    parked: [...stored.parked.values()],
    atMs,
  });
  return { topic, partition: 0, key: Buffer.from(relay), value };
}
