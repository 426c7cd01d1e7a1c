/**
 * A dead letter: key, value and headers as they were, plus the block that says where it came from and who gave up on it.
 * Readers tell dead letters apart by (job, topic, partition, offset); a crash may write one twice.
 *
 * The timestamp is that of the dead-lettering: with the record's own, a replay of old records would be deleted by the
 * retention of the dead-letter topic at once. The original one is in the block.
 */
import { type DeadLetterFacts, deadLetterFacts, deadLetterHeaders, isDeadLetterTopic } from '@tidemark/jobs';
import type { LogRecord, OutgoingRecord, RecordHeaders } from '@tidemark/log';
import { DEAD_LETTER_POINTER_KEY_BYTES_MAX } from '../limits.ts';

export interface DeadLetter {
  readonly jobId: string;
  readonly handler: string;
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly rangeId: string;
  readonly token: string;
  readonly record: LogRecord;
  /** Attempts that were made; 0 for a record that could not even be decoded. */
  readonly attempt: number;
  readonly faultClass: 'data' | 'transient' | 'timeout';
  readonly error: string;
}

export interface DeadLetterPlace {
  readonly topic: string;
  readonly partition: number;
}

export function deadLetterRecord(letter: DeadLetter, place: DeadLetterPlace): OutgoingRecord {
  const { record } = letter;
  return {
    ...place,
    key: record.key,
    value: record.value,
    headers: headersOf(letter, record.headers, 'record'),
  };
}

/** Stands for a record that the dead-letter topic refuses as too large: where it lies, without its content. */
export function deadLetterPointer(letter: DeadLetter, place: DeadLetterPlace): OutgoingRecord {
  const { key } = letter.record;
  const keptKey = key !== null && key.length <= DEAD_LETTER_POINTER_KEY_BYTES_MAX ? key : null;
  return { ...place, key: keptKey, value: null, headers: headersOf(letter, [], 'pointer') };
}

/** What an earlier round said, when the job reads dead letters: of the same record one more is written beside it. */
export function earlierRound({ topic, record }: Pick<DeadLetter, 'topic' | 'record'>): DeadLetterFacts | undefined {
  return isDeadLetterTopic(topic) ? deadLetterFacts(record.headers) : undefined;
}

function headersOf(letter: DeadLetter, headers: RecordHeaders, form: 'record' | 'pointer'): RecordHeaders {
  const { topic, partition, record, error } = letter;
  const earlier = earlierRound(letter);
  const topicId = earlier === undefined ? letter.topicId : earlier.topicId;
  return deadLetterHeaders({
    headers,
    origin: earlier?.origin ?? { topic, partition, offset: record.offset },
    fields: {
      job: letter.jobId,
      handler: letter.handler,
      timestamp: String(earlier?.timestampMs ?? record.timestampMs),
      ...(topicId === undefined ? {} : { topic_id: topicId }),
      round: String((earlier?.round ?? 0) + 1),
      ...(earlier === undefined ? {} : { letter_partition: String(partition), letter_offset: String(record.offset) }),
      // What was handed over was the corrected record, so this letter is of that one.
      ...(earlier === undefined || earlier.edit === 0 ? {} : { edit: String(earlier.edit) }),
      range: letter.rangeId,
      token: letter.token,
      attempt: String(letter.attempt),
      class: letter.faultClass,
      form,
    },
    error,
  });
}
