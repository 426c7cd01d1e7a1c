/** Reads a window to its end for tests, and checks on the way what every chunk promises. */
import { type Offset, toOffset } from '@tidemark/keyspace';
import { holeSize } from '../chunk-builder.ts';
import type { Chunk, Hole, LogReader, LogRecord, ReadAnswer, Source } from '../ports.ts';

export interface ReadAllOptions {
  readonly reader: LogReader;
  readonly source: Source;
  readonly cursor?: bigint;
  readonly end: bigint;
  readonly recordsMax?: number;
  readonly bytesMax?: number;
  /** For what is not there yet, or held back by a transaction: so long until it counts as not to come. */
  readonly waitMs?: number;
}

/** For what was written: the markers of a transaction come after its commit was answered, and late on a loaded machine. */
export const WRITTEN_WAIT_MS = 60_000;

export interface ReadAllResult {
  readonly chunks: readonly Chunk[];
  readonly records: readonly LogRecord[];
  readonly holes: readonly Hole[];
  /** The offsets of the records, as plain numbers to compare easily. */
  readonly offsets: readonly number[];
  readonly cursor: Offset;
  /** What ended the reading before the end of the window. */
  readonly stop: Exclude<ReadAnswer, { kind: 'chunk' }> | undefined;
}

export async function readAll(options: ReadAllOptions): Promise<ReadAllResult> {
  const { reader, source, recordsMax = 1_000, bytesMax = 1_000_000, waitMs = 100 } = options;
  const end = toOffset(options.end);
  const chunks: Chunk[] = [];
  let cursor = toOffset(options.cursor ?? -1n);
  let stop: ReadAllResult['stop'];
  let waitingSinceMs = performance.now();
  while (cursor < end && stop === undefined) {
    const answer = await reader.read({ source, cursor, end, recordsMax, bytesMax, waitMs });
    if (answer.kind !== 'chunk') {
      const mayCome = answer.kind === 'end of log' || answer.kind === 'open transaction';
      if (!mayCome || performance.now() - waitingSinceMs >= waitMs) stop = answer;
      continue;
    }
    checkChunk(answer.chunk, { cursor, end, recordsMax, bytesMax });
    chunks.push(answer.chunk);
    cursor = answer.chunk.end;
    waitingSinceMs = performance.now();
  }
  const records = chunks.flatMap((chunk) => chunk.records);
  const offsets = records.map(({ offset }) => Number(offset));
  return { chunks, records, holes: chunks.flatMap((chunk) => chunk.holes), offsets, cursor, stop };
}

function checkChunk(chunk: Chunk, asked: { cursor: Offset; end: Offset; recordsMax: number; bytesMax: number }): void {
  const faults: string[] = [];
  if (chunk.start !== asked.cursor) faults.push('it does not start at the cursor');
  if (chunk.end <= chunk.start) faults.push('it makes no progress');
  if (chunk.end > asked.end) faults.push('it passes the end');
  if (chunk.end - chunk.start !== BigInt(chunk.records.length) + holeSize(chunk.holes))
    faults.push('offsets are unaccounted for');
  if (chunk.records.length > asked.recordsMax) faults.push('too many records');
  if (chunk.records.length > 1 && chunk.bytes > asked.bytesMax) faults.push('too many bytes');
  if (!isAscending(chunk.records.map(({ offset }) => offset))) faults.push('records are out of order');
  if (faults.length > 0) throw new Error(`chunk (${chunk.start}, ${chunk.end}]: ${faults.join(', ')}`);
}

function isAscending(offsets: readonly Offset[]): boolean {
  return offsets.every((offset, index) => index === 0 || offset > (offsets[index - 1] as Offset));
}
