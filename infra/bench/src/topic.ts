/** The topics under all traversals, filled once and kept. */
import type { LogCluster, OutgoingRecord } from '@tidemark/log';
import { createKafkaCluster } from '@tidemark/log/kafka';
import {
  BLOCKING_KEYS,
  BLOCKING_RECORDS,
  FILL_BATCH_RECORDS,
  FILL_DISTINCT_VALUES,
  FILL_PROGRESS_RECORDS,
  TRAVERSE_PARTITIONS,
  TRAVERSE_RECORDS,
  TRAVERSE_VALUE_BYTES,
} from './limits.ts';

export const TRAVERSE_TOPIC = `tidemark-bench-traverse-${TRAVERSE_RECORDS}x${TRAVERSE_VALUE_BYTES}`;

/** The name that the peers' harness gives to it: whoever comes first fills it, with the same records. */
export const BLOCKING_TOPIC = 'bench-keyed-20k';

export type Progress = (line: string) => void;

/** Creates and fills it where it is absent; a filling that was cut short is gone on with. */
export async function ensureTraverseTopic(brokers: readonly string[], progress: Progress): Promise<void> {
  const cluster = createKafkaCluster({ brokers, clientId: 'tidemark-bench-fill' });
  try {
    const configs = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' };
    const topic = await cluster.catalog.ensure({
      topic: TRAVERSE_TOPIC,
      partitionCount: TRAVERSE_PARTITIONS,
      replicationFactor: 1,
      configs,
    });
    const offsets = await cluster.catalog.offsets(topic);
    const target = TRAVERSE_RECORDS / TRAVERSE_PARTITIONS;
    const missing = offsets.map(({ highWatermark }) => Math.max(0, target - Number(highWatermark)));
    if (missing.every((count) => count === 0)) return;
    progress(
      `filling ${TRAVERSE_TOPIC}: ${missing.reduce((sum, count) => sum + count, 0)} records of ${TRAVERSE_VALUE_BYTES} bytes`,
    );
    await fill(cluster, missing, progress);
  } finally {
    await cluster.close();
  }
}

/** The same for the blocking work: keys are drawn evenly, and the partition is the one that the Java client gives a key. */
export async function ensureBlockingTopic(brokers: readonly string[], progress: Progress): Promise<void> {
  const cluster = createKafkaCluster({ brokers, clientId: 'tidemark-bench-fill' });
  try {
    const { catalog } = cluster;
    const topic =
      (await catalog.describe(BLOCKING_TOPIC)) ??
      (await catalog.ensure({
        topic: BLOCKING_TOPIC,
        partitionCount: TRAVERSE_PARTITIONS,
        replicationFactor: 1,
        configs: { 'retention.ms': '-1' },
      }));
    const offsets = await catalog.offsets(topic);
    const missing = offsets.reduce((left, { highWatermark }) => left - Number(highWatermark), BLOCKING_RECORDS);
    if (missing <= 0) return;
    progress(`filling ${BLOCKING_TOPIC}: ${missing} records`);
    await fillKeyed(cluster, missing);
  } finally {
    await cluster.close();
  }
}

async function fillKeyed(cluster: LogCluster, missing: number): Promise<void> {
  const writer = await cluster.openWriter();
  try {
    for (let left = missing; left > 0; left -= FILL_DISTINCT_VALUES) {
      const count = Math.min(left, FILL_DISTINCT_VALUES);
      await writer.append(Array.from({ length: count }, keyedRecord));
    }
  } finally {
    await writer.close();
  }
}

function keyedRecord(): OutgoingRecord {
  const key = Buffer.from(`conversation-${Math.floor(Math.random() * BLOCKING_KEYS)}`);
  return { topic: BLOCKING_TOPIC, key, value: randomLetters() };
}

async function fill(cluster: LogCluster, missing: readonly number[], progress: Progress): Promise<void> {
  const writer = await cluster.openWriter();
  const values = Array.from({ length: FILL_DISTINCT_VALUES }, randomLetters);
  const left = [...missing];
  let written = 0;
  try {
    for (;;) {
      const records = left.flatMap((count, partition) =>
        batchFor(partition, Math.min(count, FILL_BATCH_RECORDS), values, written),
      );
      if (records.length === 0) return;
      await writer.append(records);
      for (const { partition = 0 } of records) left[partition] = (left[partition] ?? 0) - 1;
      const before = Math.floor(written / FILL_PROGRESS_RECORDS);
      written += records.length;
      if (Math.floor(written / FILL_PROGRESS_RECORDS) > before) progress(`filled ${written}`);
    }
  } finally {
    await writer.close();
  }
}

function batchFor(partition: number, count: number, values: readonly Buffer[], seed: number): OutgoingRecord[] {
  return Array.from({ length: count }, (_, place) => {
    const value = values[(seed + partition * 7 + place) % values.length] ?? null;
    return { topic: TRAVERSE_TOPIC, partition, key: null, value };
  });
}

const LETTERS = 26;

function randomLetters(): Buffer {
  return Buffer.from(Array.from({ length: TRAVERSE_VALUE_BYTES }, () => 65 + Math.floor(Math.random() * LETTERS)));
}
