/** What stands in the topics, as the judge of P9 wants it. */
import type { Codec } from '@tidemark/contracts';
import { jobTopics } from '@tidemark/jobs';
import { headerText, type LogCluster } from '@tidemark/log';
import { positionTopicOf } from '@tidemark/outbox';
import type { DeliveredRow } from '@tidemark/outbox/testing';
import { type ParkedKeys, waits } from '../../parked-keys.ts';
import { positionFromBytes } from '../../position-topic.ts';
import { jsonOf } from '../harness.ts';
import { readAll, type SentRecord } from '../read-topic.ts';
import { NUMBER_HEADER } from './crew.ts';

interface SentRow extends DeliveredRow {
  /** In the outbox. */
  readonly position: bigint;
}

export interface DeliveredByRelay {
  readonly rows: readonly SentRow[];
  /** Whether the position that was committed with the transaction says that the row waits. */
  waited(row: DeliveredRow, transaction: number): boolean;
  /** How often a key was parked. */
  readonly parked: number;
  readonly transactions: number;
}

export async function readDelivered({
  cluster,
  codec,
  namespace,
  topics,
}: {
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly namespace: string;
  readonly topics: readonly string[];
}): Promise<DeliveredByRelay> {
  const rows: SentRow[] = [];
  for (const topic of topics)
    for (const record of await readAll(cluster, topic))
      rows.push({ ...rowOf(topic, record), payload: record.value === null ? null : await jsonOf(codec, record) });
  const { jobs } = jobTopics(namespace);
  for (const record of await readAll(cluster, jobs)) rows.push(rowOf(jobs, record));

  const parkedAt = new Map<number, ParkedKeys>();
  let parked = 0;
  let before: ParkedKeys = new Map();
  for (const record of await readAll(cluster, positionTopicOf(namespace))) {
    if (record.value === null) continue;
    const { parked: now } = await positionFromBytes(codec, record.value);
    parkedAt.set(numberOf(record), now);
    for (const id of now.keys()) if (!before.has(id)) parked += 1;
    before = now;
  }
  const positions = new Map(rows.map(({ id, position }) => [id, position]));
  return {
    rows,
    waited({ id, topic, key }, transaction) {
      const position = positions.get(id);
      const keys = parkedAt.get(transaction);
      return position !== undefined && keys !== undefined && waits(keys, { topic, key, position });
    },
    parked,
    transactions: parkedAt.size,
  };
}

function rowOf(topic: string, record: SentRecord): SentRow {
  return {
    id: headerText(record, 'ce_id') ?? '',
    topic,
    key: record.key?.toString() ?? '',
    payload: null,
    place: numberOf(record),
    partition: record.partition,
    position: record.position,
  };
}

function numberOf(record: SentRecord): number {
  return Number(headerText(record, NUMBER_HEADER));
}
