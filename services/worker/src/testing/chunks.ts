/** Chunks and records for tests. */
import { toOffset } from '@tidemark/keyspace';
import type { Chunk, Hole, HoleKind, LogRecord } from '@tidemark/log';

export function record(offset: number, fields: Partial<Omit<LogRecord, 'offset'>> = {}): LogRecord {
  return {
    offset: toOffset(offset),
    timestampMs: 0n,
    key: null,
    value: Buffer.from(String(offset)),
    headers: [],
    ...fields,
  };
}

export function hole(first: number, last: number, kind: HoleKind = 'marker'): Hole {
  return { first: toOffset(first), last: toOffset(last), kind };
}

/** `(start, end]` with records and holes that account for every offset. */
export function chunk(start: number, end: number, records: readonly LogRecord[], holes: readonly Hole[] = []): Chunk {
  return { start: toOffset(start), end: toOffset(end), records, holes, bytes: 0 };
}

/** A chunk of records alone, the first one behind `start`. */
export function chunkOf(
  start: number,
  count: number,
  fieldsOf: (offset: number) => Partial<LogRecord> = () => ({}),
): Chunk {
  const records = Array.from({ length: count }, (_, place) => record(start + 1 + place, fieldsOf(start + 1 + place)));
  return chunk(start, start + count, records);
}
