/**
 * Reads parked records again: the store keeps their offsets and no payload. A record that is gone by then (the log start
 * has passed it, or compaction took it) is lost, for nobody will ever handle it.
 */
import { cursorBefore, type Offset } from '@tidemark/keyspace';
import type { LogReader, LogRecord, ReadAnswer, Source } from '@tidemark/log';
import { PARKED_GAP_OFFSETS, READ_WAIT_MS } from '../limits.ts';

export type Reread =
  | { readonly kind: 'read'; readonly records: ReadonlyMap<Offset, LogRecord>; readonly gone: readonly Offset[] }
  /** The log says something else, of which nothing follows for the records; `cursor` is where it was asked. */
  | {
      readonly kind: 'refused';
      readonly answer: Exclude<ReadAnswer, { kind: 'chunk' | 'lost' }>;
      readonly cursor: Offset;
    };

/** `offsets` ascending. What does not fit into `bytesMax` is left for another time. Throws as the reader does. */
export async function reread(options: {
  readonly reader: LogReader;
  readonly source: Source;
  readonly offsets: readonly Offset[];
  readonly bytesMax: number;
  readonly signal: AbortSignal;
}): Promise<Reread> {
  const { reader, source, offsets, bytesMax, signal } = options;
  const wanted = new Set(offsets);
  const records = new Map<Offset, LogRecord>();
  const gone: Offset[] = [];
  let bytes = 0;
  for (const { first, last } of intervalsOf(offsets, PARKED_GAP_OFFSETS)) {
    let cursor = cursorBefore(first);
    while (cursor < last && bytes < bytesMax) {
      const recordsMax = Number(last - cursor);
      const request = { source, cursor, end: last, recordsMax, bytesMax, waitMs: READ_WAIT_MS, signal };
      const answer = await reader.read(request);
      if (answer.kind !== 'chunk' && answer.kind !== 'lost') return { kind: 'refused', answer, cursor };
      const end = answer.kind === 'chunk' ? answer.chunk.end : answer.last;
      for (const record of answer.kind === 'chunk' ? answer.chunk.records : []) {
        if (!wanted.has(record.offset)) continue;
        records.set(record.offset, record);
        bytes += (record.key?.length ?? 0) + (record.value?.length ?? 0);
      }
      gone.push(...offsets.filter((offset) => offset > cursor && offset <= end && !records.has(offset)));
      cursor = end;
    }
  }
  return { kind: 'read', records, gone };
}

interface Interval {
  readonly first: Offset;
  readonly last: Offset;
}

/** Ascending offsets as intervals; those that are at most `gapMax` apart share one. */
export function intervalsOf(offsets: readonly Offset[], gapMax = 1): readonly Interval[] {
  const intervals: Interval[] = [];
  for (const offset of offsets) {
    const before = intervals.at(-1);
    if (before !== undefined && offset - before.last <= BigInt(gapMax))
      intervals.splice(-1, 1, { ...before, last: offset });
    else intervals.push({ first: offset, last: offset });
  }
  return intervals;
}
