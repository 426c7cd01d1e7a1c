/** A row as a record: Avro value in the registry framing, key as UTF-8, CloudEvents attributes as headers. */
import { type Codec, cloudEventHeaders, jsonToRecord, SchemaName } from '@tidemark/contracts';
import { requestInFormat } from '@tidemark/jobs';
import { partitionOfKey } from '@tidemark/keyspace';
import type { OutgoingRecord, RecordHeaders } from '@tidemark/log';
import type { OutboxRow } from '@tidemark/outbox';

export interface Envelope {
  readonly codec: Codec;
  /** `ce_source` of every event. */
  readonly source: string;
  /** The topic whose rows are job requests. */
  readonly jobsTopic: string;
}

/** At once where everything is known already, as it is for almost every row. */
export function toRecord(
  envelope: Envelope,
  row: OutboxRow,
  partitionCount: number,
): OutgoingRecord | Promise<OutgoingRecord> {
  const { topic, payload } = row;
  const withValue = (value: Buffer | null) => recordOf(envelope, row, { partitionCount, value });
  if (payload === null) return withValue(null);
  const value = topic === envelope.jobsTopic ? undefined : envelope.codec.encodeJsonCached(topic, payload);
  return value === undefined ? encodedValue(envelope, topic, payload).then(withValue) : withValue(value);
}

function recordOf(
  envelope: Envelope,
  row: OutboxRow,
  { partitionCount, value }: { readonly partitionCount: number; readonly value: Buffer | null },
): OutgoingRecord {
  const key = Buffer.from(row.key, 'utf8');
  const partition = partitionOfKey(key, partitionCount);
  return { topic: row.topic, partition, key, value, headers: headersOf(envelope, row) };
}

async function encodedValue({ codec, jobsTopic }: Envelope, topic: string, payload: string): Promise<Buffer> {
  if (topic === jobsTopic) {
    const request = requestInFormat(jsonToRecord(SchemaName.jobRequested, payload));
    return codec.encode(SchemaName.jobRequested, request);
  }
  return codec.encodeJsonFor(topic, payload);
}

function headersOf({ source }: Envelope, row: OutboxRow): RecordHeaders {
  const attributes = cloudEventHeaders({
    id: row.id,
    type: row.type,
    source,
    timeText: row.occurredAt,
    position: row.position,
  });
  const own = Object.entries(row.headers).map(
    ([name, value]) => [name, value === null ? null : Buffer.from(value, 'utf8')] as const,
  );
  return own.length === 0 ? attributes : [...attributes, ...own];
}
