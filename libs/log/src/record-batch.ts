/**
 * Kafka's record batch, format 2 (KIP-98, protocol guide "Record Batch"), read in place: the head without its records,
 * and the records one at a time. Keys and values are views into the given buffer, nothing is copied.
 */
import type { Offset } from '@tidemark/keyspace';
import { ControlType } from './committed.ts';
import type { Bytes, LogRecord, RecordHeaders } from './ports.ts';

/** Base offset and length: what must be there before a batch says how long it is. */
const LENGTH_END = 12;
const MAGIC_AT = 16;
const CRC_AT = 17;
/** The checksum covers everything from the attributes on. */
const ATTRIBUTES_AT = 21;
const RECORDS_AT = 61;
const MAGIC = 2;

const CODEC_MASK = 0b111;
const LOG_APPEND_TIME = 1 << 3;
const TRANSACTIONAL = 1 << 4;
const CONTROL = 1 << 5;

const CONTROL_TYPE_AT = 2;
const CONTROL_ABORT = 0;

/** What is wrong with a batch, for a person. The reader turns it into a verdict. */
export class UnreadableBatch extends Error {
  override readonly name = 'UnreadableBatch';
}

export interface BatchHead {
  readonly baseOffset: bigint;
  readonly lastOffset: bigint;
  /** Where the batch begins and ends in the buffer. */
  readonly begin: number;
  readonly end: number;
  readonly magic: number;
  readonly crc: number;
  readonly codec: number;
  readonly transactional: boolean;
  readonly control: boolean;
  readonly logAppendTime: boolean;
  readonly baseTimestampMs: bigint;
  readonly maxTimestampMs: bigint;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly recordCount: number;
}

/** Undefined when the buffer ends before the batch does: brokers cut the last batch of an answer anywhere. */
export function readBatchHead(buffer: Bytes, begin: number): BatchHead | undefined {
  if (buffer.length - begin < LENGTH_END) return undefined;
  const end = begin + LENGTH_END + buffer.readInt32BE(begin + 8);
  if (end > buffer.length) return undefined;
  const magic = end - begin > MAGIC_AT ? buffer.readInt8(begin + MAGIC_AT) : -1;
  const baseOffset = buffer.readBigInt64BE(begin);
  if (magic !== MAGIC || end - begin < RECORDS_AT) return unknownFormat(baseOffset, { begin, end, magic });
  const attributes = buffer.readInt16BE(begin + ATTRIBUTES_AT);
  return {
    baseOffset,
    lastOffset: baseOffset + BigInt(buffer.readInt32BE(begin + 23)),
    begin,
    end,
    magic,
    crc: buffer.readUInt32BE(begin + CRC_AT),
    codec: attributes & CODEC_MASK,
    transactional: (attributes & TRANSACTIONAL) !== 0,
    control: (attributes & CONTROL) !== 0,
    logAppendTime: (attributes & LOG_APPEND_TIME) !== 0,
    baseTimestampMs: buffer.readBigInt64BE(begin + 27),
    maxTimestampMs: buffer.readBigInt64BE(begin + 35),
    producerId: buffer.readBigInt64BE(begin + 43),
    producerEpoch: buffer.readInt16BE(begin + 51),
    recordCount: buffer.readInt32BE(begin + 57),
  };
}

/** An older format (or none): only its place is known. */
function unknownFormat(baseOffset: bigint, place: { begin: number; end: number; magic: number }): BatchHead {
  const nothing = { crc: 0, codec: 0, transactional: false, control: false, logAppendTime: false, recordCount: 0 };
  return {
    baseOffset,
    lastOffset: baseOffset,
    ...place,
    ...nothing,
    baseTimestampMs: -1n,
    maxTimestampMs: -1n,
    producerId: -1n,
    producerEpoch: -1,
  };
}

/** How the bytes of a batch are checked and unpacked; both belong to the client, so they are given. */
export interface BatchCodecs {
  /** CRC-32C. */
  readonly checksum: (bytes: Bytes) => number;
  /** Undefined for a codec that this client does not know. */
  readonly decompress: (codec: number, bytes: Bytes) => Bytes | undefined;
}

/** Throws UnreadableBatch when format or checksum is not as it should be. */
export function verifyBatch(buffer: Bytes, head: BatchHead, codecs: BatchCodecs): void {
  if (head.magic !== MAGIC)
    throw new UnreadableBatch(`record format ${head.magic} is not supported (only ${MAGIC} is)`);
  const actual = codecs.checksum(buffer.subarray(head.begin + ATTRIBUTES_AT, head.end));
  if (actual !== head.crc) {
    throw new UnreadableBatch(
      `checksum ${actual.toString(16)} does not match the stored ${head.crc.toString(16)}: the batch is damaged`,
    );
  }
}

export function controlTypeOf(buffer: Bytes, head: BatchHead): ControlType {
  if (!head.control) return ControlType.none;
  const key =
    head.recordCount > 0
      ? new RecordCursor(buffer.subarray(head.begin + RECORDS_AT, head.end), head).next()?.key
      : undefined;
  const abort =
    key !== undefined && key !== null && key.length >= 4 && key.readInt16BE(CONTROL_TYPE_AT) === CONTROL_ABORT;
  return abort ? ControlType.abort : ControlType.commit;
}

/** Unpacks the batch. Throws UnreadableBatch for an unknown codec or data that does not unpack. */
export function openRecords(buffer: Bytes, head: BatchHead, codecs: BatchCodecs): RecordCursor {
  const packed = buffer.subarray(head.begin + RECORDS_AT, head.end);
  if (head.codec === 0) return new RecordCursor(packed, head);
  return new RecordCursor(unpack(packed, head.codec, codecs), head);
}

function unpack(packed: Bytes, codec: number, codecs: BatchCodecs): Bytes {
  let unpacked: Bytes | undefined;
  try {
    unpacked = codecs.decompress(codec, packed);
  } catch (cause) {
    throw new UnreadableBatch(`compression codec ${codec}: the data does not unpack`, { cause });
  }
  if (unpacked === undefined) throw new UnreadableBatch(`compression codec ${codec} is unknown`);
  return unpacked;
}

const NO_HEADERS: RecordHeaders = [];

/**
 * The records of one batch in order. Reading past the buffer yields zeros from the varint readers, which no valid record
 * survives: each record states its length and must end exactly there, inside the buffer.
 */
export class RecordCursor {
  readonly #buffer: Bytes;
  readonly #baseOffset: bigint;
  readonly #baseTimestampMs: bigint;
  readonly #appendTimeMs: bigint | undefined;
  #position = 0;
  #left: number;
  #bytes = 0;
  #timestampMs: bigint;
  #timestampDelta = 0;

  constructor(
    buffer: Bytes,
    head: Pick<BatchHead, 'baseOffset' | 'baseTimestampMs' | 'maxTimestampMs' | 'logAppendTime' | 'recordCount'>,
  ) {
    this.#buffer = buffer;
    this.#baseOffset = head.baseOffset;
    this.#baseTimestampMs = head.baseTimestampMs;
    this.#appendTimeMs = head.logAppendTime ? head.maxTimestampMs : undefined;
    this.#timestampMs = head.baseTimestampMs;
    this.#left = head.recordCount;
  }

  /** Key, value and header bytes of the record that `next` returned last. */
  get recordBytes(): number {
    return this.#bytes;
  }

  next(): LogRecord | undefined {
    if (this.#left <= 0) return undefined;
    this.#left -= 1;
    const length = this.#varint();
    const end = this.#position + length;
    if (length <= 0 || end > this.#buffer.length) throw new UnreadableBatch('a record is longer than its batch');
    this.#position += 1; // Attributes of a record: unused in this format.
    const timestampMs = this.#timestamp();
    // The cast is safe: base offsets come from an int64 of the broker, and a checked batch does not overflow it.
    const offset = (this.#baseOffset + BigInt(this.#varint())) as Offset;
    this.#bytes = 0;
    const key = this.#bytesOrNull();
    const value = this.#bytesOrNull();
    const headers = this.#headers();
    if (this.#position !== end) throw new UnreadableBatch(`the record at offset ${offset} does not end where it says`);
    return { offset, timestampMs, key, value, headers };
  }

  #timestamp(): bigint {
    const delta = this.#varlong();
    if (this.#appendTimeMs !== undefined) return this.#appendTimeMs;
    if (typeof delta === 'bigint') return this.#baseTimestampMs + delta;
    // Most neighbours share a millisecond; sharing the bigint, too, saves an allocation a record.
    if (delta !== this.#timestampDelta) {
      this.#timestampDelta = delta;
      this.#timestampMs = this.#baseTimestampMs + BigInt(delta);
    }
    return this.#timestampMs;
  }

  #headers(): RecordHeaders {
    const count = this.#varint();
    if (count === 0) return NO_HEADERS;
    if (count < 0 || count > this.#buffer.length - this.#position)
      throw new UnreadableBatch('a record has an impossible number of headers');
    const headers: [string, Bytes | null][] = [];
    for (let i = 0; i < count; i++) {
      const name = this.#bytesOrNull();
      if (name === null) throw new UnreadableBatch('a header has no name');
      headers.push([name.toString(), this.#bytesOrNull()]);
    }
    return headers;
  }

  #bytesOrNull(): Bytes | null {
    const length = this.#varint();
    if (length === -1) return null;
    const begin = this.#position;
    const end = begin + length;
    if (length < 0 || end > this.#buffer.length) throw new UnreadableBatch('a field is longer than its batch');
    this.#position = end;
    this.#bytes += length;
    return this.#buffer.subarray(begin, end);
  }

  /** Zigzag, at most 32 bits. */
  #varint(): number {
    const buffer = this.#buffer;
    let position = this.#position;
    let byte = buffer[position++] as number;
    let raw = byte & 0x7f;
    for (let shift = 7; byte >= 0x80 && shift < 35; shift += 7) {
      byte = buffer[position++] as number;
      raw |= (byte & 0x7f) << shift;
    }
    this.#position = position;
    return (raw >>> 1) ^ -(raw & 1);
  }

  /** Zigzag, at most 64 bits; a number where four bytes are enough. */
  #varlong(): number | bigint {
    const buffer = this.#buffer;
    const begin = this.#position;
    for (let length = 1; length <= 4; length++) {
      if ((buffer[begin + length - 1] as number) >= 0x80) continue;
      return this.#varint();
    }
    let raw = 0n;
    let position = begin;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = buffer[position++] ?? 0;
      raw |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    this.#position = position;
    return BigInt.asIntN(64, (raw >> 1n) ^ -(raw & 1n));
  }
}
