/** The batches of an answer as entries, committed or not. */
import { type Offset, toOffset } from '@tidemark/keyspace';
import { ControlType } from '../../committed.ts';
import type { Bytes, LogEntry, LogRecord } from '../../ports.ts';
import { type BatchHead, controlTypeOf, openRecords, readBatchHead, verifyBatch } from '../../record-batch.ts';
import { batchCodecs } from './batch-codecs.ts';

export interface ReadEntry {
  /** Undefined for what compaction left empty. */
  readonly entry: LogEntry | undefined;
  readonly nextOffset: Offset;
}

/** Records below `from` are left out. Throws UnreadableBatch for a batch that cannot be decoded. */
export function* entriesOf(buffer: Bytes, from: bigint): Generator<ReadEntry, void, undefined> {
  let head = readBatchHead(buffer, 0);
  while (head !== undefined) {
    verifyBatch(buffer, head, batchCodecs);
    if (head.lastOffset >= from)
      yield { entry: entryOf(buffer, head, from), nextOffset: toOffset(head.lastOffset + 1n) };
    head = readBatchHead(buffer, head.end);
  }
}

function entryOf(buffer: Bytes, head: BatchHead, from: bigint): LogEntry | undefined {
  const { producerId, producerEpoch, transactional } = head;
  const control = controlTypeOf(buffer, head);
  if (control === ControlType.none) {
    const records = [...recordsFrom(buffer, head, from)];
    return records.length === 0 ? undefined : { kind: 'data', producerId, producerEpoch, transactional, records };
  }
  if (head.recordCount === 0) return undefined;
  return { kind: 'marker', producerId, producerEpoch, offset: toOffset(head.lastOffset), outcome: control };
}

function* recordsFrom(buffer: Bytes, head: BatchHead, from: bigint): Generator<LogRecord, void, undefined> {
  const cursor = openRecords(buffer, head, batchCodecs);
  for (let record = cursor.next(); record !== undefined; record = cursor.next()) {
    if (record.offset >= from) yield record;
  }
}
