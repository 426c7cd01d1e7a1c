/** Record batches as a broker sends them, for tests: any shape that compaction, transactions or damage can give them. */
import type { Bytes, RecordHeaders } from '../ports.ts';

export interface BatchRecord {
  readonly offset: bigint;
  readonly timestampMs?: bigint;
  readonly key?: Bytes | null;
  readonly value?: Bytes | null;
  readonly headers?: RecordHeaders;
}

export interface BatchShape {
  readonly baseOffset: bigint;
  /** Compaction keeps a batch's range when it takes its last records. Default: the last record's offset. */
  readonly lastOffset?: bigint;
  readonly records: readonly BatchRecord[];
  readonly baseTimestampMs?: bigint;
  readonly maxTimestampMs?: bigint;
  readonly logAppendTime?: boolean;
  readonly producerId?: bigint;
  readonly producerEpoch?: number;
  readonly transactional?: boolean;
  readonly control?: boolean;
  readonly magic?: number;
  readonly codec?: number;
  readonly compress?: (bytes: Bytes) => Bytes;
}

const ATTRIBUTES_AT = 21;

export function encodeBatch(shape: BatchShape, checksum: (bytes: Bytes) => number): Bytes {
  const { baseOffset, records, baseTimestampMs = 1_000n } = shape;
  const packed = Buffer.concat(records.map((record) => encodeRecord(record, { baseOffset, baseTimestampMs })));
  const body = shape.compress?.(packed) ?? packed;
  const lastOffset = shape.lastOffset ?? records.at(-1)?.offset ?? baseOffset;
  const head = Buffer.alloc(61);
  head.writeBigInt64BE(baseOffset, 0);
  head.writeInt32BE(head.length + body.length - 12, 8);
  head.writeInt8(shape.magic ?? 2, 16);
  head.writeInt16BE(attributesOf(shape), ATTRIBUTES_AT);
  head.writeInt32BE(Number(lastOffset - baseOffset), 23);
  head.writeBigInt64BE(baseTimestampMs, 27);
  head.writeBigInt64BE(shape.maxTimestampMs ?? baseTimestampMs, 35);
  head.writeBigInt64BE(shape.producerId ?? -1n, 43);
  head.writeInt16BE(shape.producerEpoch ?? 0, 51);
  head.writeInt32BE(records.length, 57);
  const batch = Buffer.concat([head, body]);
  batch.writeUInt32BE(checksum(batch.subarray(ATTRIBUTES_AT)), 17);
  return batch;
}

/** The marker that ends a transaction: a control batch of one record. */
export function encodeMarker(
  marker: { readonly offset: bigint; readonly producerId: bigint; readonly outcome: 'abort' | 'commit' },
  checksum: (bytes: Bytes) => number,
): Bytes {
  const key = Buffer.from([0, 0, 0, marker.outcome === 'abort' ? 0 : 1]);
  const records = [{ offset: marker.offset, key, value: Buffer.alloc(6) }];
  const { offset: baseOffset, producerId } = marker;
  return encodeBatch({ baseOffset, producerId, records, transactional: true, control: true }, checksum);
}

function attributesOf(shape: BatchShape): number {
  return (
    (shape.codec ?? 0) |
    (shape.logAppendTime === true ? 1 << 3 : 0) |
    (shape.transactional === true ? 1 << 4 : 0) |
    (shape.control === true ? 1 << 5 : 0)
  );
}

function encodeRecord(record: BatchRecord, base: { baseOffset: bigint; baseTimestampMs: bigint }): Bytes {
  const { key = null, value = null, headers = [] } = record;
  const body = Buffer.concat([
    Buffer.from([0]),
    varint((record.timestampMs ?? base.baseTimestampMs) - base.baseTimestampMs),
    varint(record.offset - base.baseOffset),
    field(key),
    field(value),
    varint(BigInt(headers.length)),
    ...headers.flatMap(([name, header]) => [field(Buffer.from(name)), field(header)]),
  ]);
  return Buffer.concat([varint(BigInt(body.length)), body]);
}

function field(bytes: Bytes | null): Bytes {
  return bytes === null ? varint(-1n) : Buffer.concat([varint(BigInt(bytes.length)), bytes]);
}

function varint(value: bigint): Bytes {
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  const bytes: number[] = [];
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Buffer.from(bytes);
}
