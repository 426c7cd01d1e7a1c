/**
 * The body of a produce request (versions 3 to 7), written in one pass over one buffer: protocol guide "Produce" and
 * "Record Batch", KIP-98. Never compressed. Pure but for the checksum, which is given.
 */
import { nameBytes } from '../../header-names.ts';
import type { PlacedRecord } from '../../outgoing.ts';
import { varintBytes } from '../../outgoing.ts';
import type { Bytes, OutgoingRecord } from '../../ports.ts';

export interface PartitionBatch {
  readonly partition: number;
  readonly firstSequence: number;
  readonly records: readonly PlacedRecord[];
}

export interface ProduceBody {
  readonly transactionalId: string | undefined;
  readonly acks: number;
  readonly timeoutMs: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly topics: readonly { readonly topic: string; readonly partitions: readonly PartitionBatch[] }[];
  /** Of records without a timestamp of their own. */
  readonly nowMs: bigint;
}

const MAGIC = 2;
const TRANSACTIONAL = 1 << 4;
/** From the base offset to the end of the length; from there to the number of records, that included. */
const LENGTH_END = 12;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const HEAD_BYTES = 61;
/** A record's length, and what its two deltas may take above the one byte each that `bodyBytes` has. */
const RECORD_EXTRA_BYTES_MAX = 5 + 8 + 4;

export function produceBody(body: ProduceBody, checksum: (bytes: Bytes) => number): Bytes {
  const writer = new ByteWriter(Buffer.allocUnsafe(bytesMaxOf(body)));
  if (body.transactionalId === undefined) writer.int16(-1);
  else writer.text(body.transactionalId);
  writer.int16(body.acks);
  writer.int32(body.timeoutMs);
  writer.int32(body.topics.length);
  for (const { topic, partitions } of body.topics) {
    writer.text(topic);
    writer.int32(partitions.length);
    for (const batch of partitions) {
      writer.int32(batch.partition);
      const lengthAt = writer.at;
      writer.int32(0);
      writeBatch(writer, body, batch, checksum);
      writer.bytes.writeInt32BE(writer.at - lengthAt - 4, lengthAt);
    }
  }
  return writer.bytes.subarray(0, writer.at);
}

function bytesMaxOf({ transactionalId, topics }: ProduceBody): number {
  let bytes = 2 + Buffer.byteLength(transactionalId ?? '') + 2 + 4 + 4;
  for (const { topic, partitions } of topics) {
    bytes += 2 + Buffer.byteLength(topic) + 4;
    for (const { records } of partitions) {
      bytes += 8 + HEAD_BYTES;
      for (const { bodyBytes } of records) bytes += bodyBytes + RECORD_EXTRA_BYTES_MAX;
    }
  }
  return bytes;
}

function writeBatch(
  writer: ByteWriter,
  { transactionalId, producerId, producerEpoch, nowMs }: ProduceBody,
  { firstSequence, records }: PartitionBatch,
  checksum: (bytes: Bytes) => number,
): void {
  const begin = writer.at;
  const { first, last } = timesOf(records, nowMs);
  writer.int64(0n); // base offset: the broker's
  writer.int32(0); // length, when it is known
  writer.int32(0); // leader epoch: the broker's
  writer.int8(MAGIC);
  writer.int32(0); // checksum, when all is written
  writer.int16(transactionalId === undefined ? 0 : TRANSACTIONAL);
  writer.int32(records.length - 1);
  writer.int64(first);
  writer.int64(last);
  writer.int64(producerId);
  writer.int16(producerEpoch);
  writer.int32(firstSequence);
  writer.int32(records.length);
  for (const [offsetDelta, { record, bodyBytes }] of records.entries()) {
    const { timestampMs } = record;
    const timestampDelta = Number((timestampMs ?? nowMs) - first);
    writer.varint(bodyBytes - 2 + varintBytes(timestampDelta) + varintBytes(offsetDelta));
    writer.int8(0); // attributes: unused in this format
    writer.varint(timestampDelta);
    writer.varint(offsetDelta);
    writeContents(writer, record);
  }
  writer.bytes.writeInt32BE(writer.at - begin - LENGTH_END, begin + LENGTH_END - 4);
  writer.bytes.writeUInt32BE(checksum(writer.bytes.subarray(begin + ATTRIBUTES_AT, writer.at)), begin + CRC_AT);
}

function writeContents(writer: ByteWriter, { key, value, headers }: OutgoingRecord): void {
  writer.field(key);
  writer.field(value);
  if (headers === undefined) {
    writer.varint(0);
    return;
  }
  writer.varint(headers.length);
  for (const [name, header] of headers) {
    writer.field(nameBytes(name));
    writer.field(header);
  }
}

/** Of a batch whose records have no times of their own, both are now. */
function timesOf(records: readonly PlacedRecord[], nowMs: bigint): { readonly first: bigint; readonly last: bigint } {
  let first = records[0]?.record.timestampMs ?? nowMs;
  let last = first;
  for (const { record } of records) {
    const { timestampMs = nowMs } = record;
    if (timestampMs < first) first = timestampMs;
    if (timestampMs > last) last = timestampMs;
  }
  return { first, last };
}

/** Below this a loop copies faster than a call. */
const LOOP_BYTES_MAX = 40;

class ByteWriter {
  readonly bytes: Bytes;
  at = 0;

  constructor(bytes: Bytes) {
    this.bytes = bytes;
  }

  int8(value: number): void {
    this.at = this.bytes.writeInt8(value, this.at);
  }

  int16(value: number): void {
    this.at = this.bytes.writeInt16BE(value, this.at);
  }

  int32(value: number): void {
    this.at = this.bytes.writeInt32BE(value, this.at);
  }

  int64(value: bigint): void {
    this.at = this.bytes.writeBigInt64BE(value, this.at);
  }

  text(value: string): void {
    this.int16(Buffer.byteLength(value));
    this.at += this.bytes.write(value, this.at);
  }

  /** Zigzag of a number that is not negative: a length, a count or a delta. */
  varint(value: number): void {
    const { bytes } = this;
    let { at } = this;
    let rest = value * 2;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) | 0x80;
    bytes[at++] = rest;
    this.at = at;
  }

  field(value: Bytes | null): void {
    if (value === null) {
      this.bytes[this.at++] = 1; // zigzag of -1
      return;
    }
    const { length } = value;
    this.varint(length);
    const { bytes, at } = this;
    if (length > LOOP_BYTES_MAX) bytes.set(value, at);
    else for (let place = 0; place < length; place++) bytes[at + place] = value[place] as number;
    this.at = at + length;
  }
}
