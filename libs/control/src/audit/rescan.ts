/** What the log shows of a range today, read again from its start to its cursor. Nothing is changed, and no position kept. */
import type { Offset, RangeRef } from '@tidemark/keyspace';
import { describeReadRefusal, HoleKind, type LogReader, type LogRecord, type TopicDescription } from '@tidemark/log';
import { READ_CHUNK_BYTES, READ_CHUNK_RECORDS, READ_WAIT_MS } from '../limits.ts';

export interface OffsetInterval {
  readonly first: bigint;
  /** Included. */
  readonly last: bigint;
}

/** Each offset of `(start, cursor]` is one of these. */
export interface RangeScan {
  /** Those that the job is about. */
  readonly records: bigint;
  readonly filtered: bigint;
  readonly markers: bigint;
  readonly compacted: bigint;
  /** Not in the log any more. */
  readonly gone: readonly OffsetInterval[];
  /** Behind this offset nothing could be read. */
  readonly unread: { readonly behind: Offset; readonly reason: string } | undefined;
}

export interface RescanRequest {
  readonly reader: LogReader;
  readonly topic: TopicDescription;
  readonly range: RangeRef & { readonly cursor: Offset };
  /** Undefined: every record belongs to the job. */
  readonly belongs: ((record: LogRecord) => boolean) | undefined;
  /** Gets the records that belong to the job, in offset order. */
  readonly onRecords?: ((records: readonly LogRecord[]) => void | Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Throws TidemarkError `unavailable` when the broker cannot be reached, or when aborted. */
export async function rescan(request: RescanRequest): Promise<RangeScan> {
  const { reader, topic, range, belongs, onRecords, signal } = request;
  const source = { topic: topic.topic, topicId: topic.topicId, partition: range.partition };
  const seen = { records: 0n, filtered: 0n, markers: 0n, compacted: 0n };
  const gone: OffsetInterval[] = [];
  let cursor = range.start;
  while (cursor < range.cursor) {
    const answer = await reader.read({
      source,
      cursor,
      end: range.cursor,
      recordsMax: READ_CHUNK_RECORDS,
      bytesMax: READ_CHUNK_BYTES,
      waitMs: READ_WAIT_MS,
      ...(signal === undefined ? {} : { signal }),
    });
    if (answer.kind === 'lost') {
      gone.push({ first: answer.first, last: answer.last });
      cursor = answer.last;
      continue;
    }
    if (answer.kind !== 'chunk')
      return { ...seen, gone, unread: { behind: cursor, reason: describeReadRefusal(answer) } };
    const { records, holes, end } = answer.chunk;
    const own = belongs === undefined ? records : records.filter(belongs);
    seen.records += BigInt(own.length);
    seen.filtered += BigInt(records.length - own.length);
    for (const { kind, first, last } of holes)
      seen[kind === HoleKind.marker ? 'markers' : 'compacted'] += last - first + 1n;
    await onRecords?.(own);
    cursor = end;
  }
  return { ...seen, gone, unread: undefined };
}
