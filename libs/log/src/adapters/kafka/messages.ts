/** Where the records of a produce request ended up. */

import { ErrorClass, TidemarkError, toOffset } from '@tidemark/keyspace';
import type { RecordMetadata } from 'kafkajs';
import type { PlacedRecord } from '../../outgoing.ts';
import type { AppendedRecord, OutgoingRecord } from '../../ports.ts';

/** Never asked, because records are grouped by the partition that they have (kafkajs-produce.ts); without one the client warns. */
export const noPartitioner = () => (): number => 0;

/** One batch a partition, so a record's offset is the batch's first one plus its place. */
export function toAppended(
  records: readonly PlacedRecord[],
  answers: readonly RecordMetadata[],
): readonly AppendedRecord[] {
  const next = new Map(
    answers.map((answer) => [`${answer.partition}:${answer.topicName}`, BigInt(answer.baseOffset ?? -1)]),
  );
  return records.map(({ record, partition }) => {
    const key = `${partition}:${record.topic}`;
    const offset = next.get(key);
    if (offset === undefined || offset < 0n) throw unacknowledged(record, partition);
    next.set(key, offset + 1n);
    return { topic: record.topic, partition, offset: toOffset(offset) };
  });
}

/**
 * Throws unless each partition of the request has one answer. When a leader moves while another broker has answered
 * already, version 2.2.4 of kafkajs takes the partition for sent, or sends one again that was.
 */
export function requireOneAnswerEach(records: readonly PlacedRecord[], answers: readonly RecordMetadata[]): void {
  const counts = new Map<string, number>();
  for (const { partition, topicName } of answers) {
    const key = `${partition}:${topicName}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  for (const { record, partition } of records)
    if (counts.get(`${partition}:${record.topic}`) !== 1) throw leaderMoved(record, partition);
}

function leaderMoved({ topic }: OutgoingRecord, partition: number): TidemarkError {
  const message = `records of ${topic}/${partition} were sent twice, or not at all, because its leader moved meanwhile`;
  return new TidemarkError({ code: 'KAFKA_UNAVAILABLE', class: ErrorClass.unavailable, message });
}

function unacknowledged(record: OutgoingRecord, partition: number): TidemarkError {
  const message = `the broker named no offset for a record of ${record.topic}/${partition}`;
  return new TidemarkError({ code: 'KAFKA_UNAVAILABLE', class: ErrorClass.unavailable, message });
}
