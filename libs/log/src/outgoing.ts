/** How records to be written are sized, placed and cut into requests. Pure; sizes follow record format 2. */
import { ErrorClass, partitionOfKey, TidemarkError } from '@tidemark/keyspace';
import { nameBytes } from './header-names.ts';
import { BATCH_BYTES_MAX, BATCH_RECORDS_MAX, PRODUCE_REQUEST_BYTES_MAX } from './limits.ts';
import type { OutgoingRecord } from './ports.ts';

/** What placing needs to know of a topic. */
export interface TopicFacts {
  readonly partitionCount: number;
  /** The topic's `max.message.bytes`: the largest batch that the broker takes. */
  readonly messageBytesMax: number;
}

export interface PlacedRecord {
  readonly record: OutgoingRecord;
  readonly partition: number;
  /** Without its length, as the first of a batch. */
  readonly bodyBytes: number;
  /** As a batch of its own. */
  readonly batchBytes: number;
  /** What a batch of its topic may take. */
  readonly batchBytesMax: number;
}

const BATCH_HEAD_BYTES = 61;
/** Timestamp and offset deltas of a record that is not the first of its batch may take more than the one byte each. */
const DELTA_BYTES_MAX = 13;
const KEY_TEXT_MAX = 100;

/** Throws TidemarkError `data` for a record that the broker would refuse, before anything is sent. */
export function placeRecord(record: OutgoingRecord, facts: TopicFacts): PlacedRecord {
  const bodyBytes = bodyBytesOf(record);
  const batchBytes = BATCH_HEAD_BYTES + varintBytes(bodyBytes) + bodyBytes;
  if (batchBytes > facts.messageBytesMax)
    throw tooLarge(record, { batchBytes, messageBytesMax: facts.messageBytesMax });
  const batchBytesMax = Math.min(BATCH_BYTES_MAX, facts.messageBytesMax);
  return { record, partition: partitionFor(record, facts.partitionCount), bodyBytes, batchBytes, batchBytesMax };
}

/** The exact size of a batch that holds the record alone. */
export function batchBytesOf(record: OutgoingRecord): number {
  const body = bodyBytesOf(record);
  return BATCH_HEAD_BYTES + varintBytes(body) + body;
}

function bodyBytesOf(record: OutgoingRecord): number {
  let body = 3 + fieldBytes(record.key?.length) + fieldBytes(record.value?.length); // attributes and two deltas of zero
  const headers = record.headers ?? [];
  body += varintBytes(headers.length);
  for (const [name, value] of headers) body += fieldBytes(nameBytes(name).length) + fieldBytes(value?.length);
  return body;
}

function fieldBytes(length: number | undefined): number {
  return length === undefined ? 1 : varintBytes(length) + length;
}

/** Zigzag doubles the number, which is not negative, so each byte holds seven bits of twice the value. */
export function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value * 2; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes += 1;
  return bytes;
}

function partitionFor(record: OutgoingRecord, partitionCount: number): number {
  const { topic, partition, key } = record;
  if (partition !== undefined) {
    if (Number.isInteger(partition) && partition >= 0 && partition < partitionCount) return partition;
    throw badRecord(
      'PARTITION_INVALID',
      record,
      `topic "${topic}" has no partition ${partition} (it has ${partitionCount})`,
    );
  }
  if (key === null)
    throw badRecord('PARTITION_MISSING', record, `a record for topic "${topic}" has neither a key nor a partition`);
  return partitionOfKey(key, partitionCount);
}

/**
 * Cuts into requests of at most one batch a partition, within the limits of each batch and of the whole. The order of
 * a partition's records is kept; a record that is alone above a limit travels alone.
 */
export function planRequests(records: readonly PlacedRecord[]): readonly (readonly PlacedRecord[])[] {
  const requests: PlacedRecord[][] = [];
  let request: PlacedRecord[] = [];
  let requestBytes = 0;
  const batches = new Map<string, { bytes: number; records: number }>();
  for (const placed of records) {
    const key = `${placed.partition}:${placed.record.topic}`;
    const bytes = placed.batchBytes - BATCH_HEAD_BYTES + DELTA_BYTES_MAX;
    const batch = batches.get(key) ?? { bytes: BATCH_HEAD_BYTES, records: 0 };
    const overflows =
      requestBytes + bytes > PRODUCE_REQUEST_BYTES_MAX ||
      (batch.records > 0 && (batch.bytes + bytes > placed.batchBytesMax || batch.records >= BATCH_RECORDS_MAX));
    if (overflows && request.length > 0) {
      requests.push(request);
      request = [];
      requestBytes = 0;
      batches.clear();
    }
    const into = batches.get(key) ?? { bytes: BATCH_HEAD_BYTES, records: 0 };
    batches.set(key, { bytes: into.bytes + bytes, records: into.records + 1 });
    request.push(placed);
    requestBytes += bytes;
  }
  if (request.length > 0) requests.push(request);
  return requests;
}

function tooLarge(record: OutgoingRecord, sizes: { batchBytes: number; messageBytesMax: number }): TidemarkError {
  const message =
    `a record for topic "${record.topic}" with key ${keyText(record.key)} takes ${sizes.batchBytes} bytes, ` +
    `more than the ${sizes.messageBytesMax} of the topic's max.message.bytes`;
  return badRecord('RECORD_TOO_LARGE', record, message, sizes);
}

function badRecord(
  code: string,
  record: OutgoingRecord,
  message: string,
  sizes: Record<string, number> = {},
): TidemarkError {
  const context = { topic: record.topic, key: keyText(record.key), ...sizes };
  return new TidemarkError({ code, class: ErrorClass.data, message, context });
}

/** For people: text if it is text, else hex; shortened. */
export function keyText(key: Buffer | null): string {
  if (key === null) return 'null';
  const text = key.toString();
  const readable = Buffer.from(text).equals(key) ? JSON.stringify(text) : `0x${key.toString('hex')}`;
  return readable.length > KEY_TEXT_MAX ? `${readable.slice(0, KEY_TEXT_MAX)}…` : readable;
}
