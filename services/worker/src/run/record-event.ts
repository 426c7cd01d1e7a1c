/** A record as a handler sees it. A class, so that all have one shape and making one costs a few nanoseconds. */
import type { HandlerEvent } from '@tidemark/handlers';
import { deadLetterFacts, isDeadLetterTopic, withoutBlock } from '@tidemark/jobs';
import { type Offset, toOffset } from '@tidemark/keyspace';
import type { LogRecord } from '@tidemark/log';

/** Where the records of a chunk come from. */
export interface EventOrigin {
  readonly topic: string;
  readonly topicId: string | undefined;
  readonly partition: number;
}

/** Bytes and decoded values come through one door: an event whose payload is typed `null` fits every handler. */
export class RecordEvent implements HandlerEvent<null> {
  readonly topic: string;
  readonly topicId: string | undefined;
  readonly partition: number;
  readonly offset: Offset;
  readonly timestampMs: bigint;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: LogRecord['headers'];
  readonly payload: null;

  constructor(origin: EventOrigin, record: LogRecord, payload: unknown) {
    this.topic = origin.topic;
    this.topicId = origin.topicId;
    this.partition = origin.partition;
    this.offset = record.offset;
    this.timestampMs = record.timestampMs;
    this.key = record.key;
    this.value = record.value;
    this.headers = record.headers;
    this.payload = payload as null;
  }
}

/** A dead letter is handed over as the record that it is of: same place, time and headers, so that an effect is known again by its key. */
export function eventOfLetter(origin: EventOrigin, letter: LogRecord, payload: unknown): RecordEvent {
  const facts = deadLetterFacts(letter.headers);
  if (facts === undefined) return new RecordEvent(origin, letter, payload);
  const { key, value, headers } = letter;
  const timestampMs = facts.timestampMs ?? letter.timestampMs;
  const record = { offset: toOffset(facts.origin.offset), timestampMs, key, value, headers: withoutBlock(headers) };
  return new RecordEvent({ ...facts.origin, topicId: facts.topicId }, record, payload);
}

/** As a job over `topic` hands it to its handler. */
export function eventOfRecord(origin: EventOrigin, record: LogRecord, payload: unknown): RecordEvent {
  return isDeadLetterTopic(origin.topic)
    ? eventOfLetter(origin, record, payload)
    : new RecordEvent(origin, record, payload);
}

/** Indexes are counted over the records of a run. */
export function recordAt(records: readonly LogRecord[], index: number): LogRecord {
  const record = records[index];
  if (record === undefined) throw new RangeError(`no record ${index} of ${records.length}`);
  return record;
}
