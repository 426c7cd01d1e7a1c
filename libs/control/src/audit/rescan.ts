/** What the log shows of a range today, read again from its start to its cursor. Nothing is changed, and no position kept. */
import {
  type Offset,
  type OffsetInterval,
  type RangeRef,
  sizeOfIntervals,
  subtractIntervals,
} from '@tidemark/keyspace';
import { describeReadRefusal, HoleKind, type LogReader, type LogRecord, type TopicDescription } from '@tidemark/log';
import { READ_CHUNK_BYTES, READ_CHUNK_RECORDS, READ_WAIT_MS } from '../limits.ts';

/** Each offset of `(start, cursor]` is one of these; what the range says is lost only in `gone`, `unread` and `contradicted`. */
export interface RangeScan {
  /** Those that the job is about. */
  readonly records: bigint;
  readonly filtered: bigint;
  readonly markers: bigint;
  readonly compacted: bigint;
  /** Said to be lost, and there. */
  readonly contradicted: bigint;
  /** Not in the log any more. */
  readonly gone: readonly OffsetInterval[];
  /** Behind this offset nothing could be read. */
  readonly unread: { readonly behind: Offset; readonly reason: string } | undefined;
}

export interface RescanRequest {
  readonly reader: LogReader;
  readonly topic: TopicDescription;
  readonly range: RangeRef & { readonly cursor: Offset };
  /** What the range says is lost, merged: it belongs to no other number. */
  readonly lost: readonly OffsetInterval[];
  /** Undefined: every record belongs to the job. */
  readonly belongs: ((record: LogRecord) => boolean) | undefined;
  /** Gets the records that belong to the job, in offset order. */
  readonly onRecords?: ((records: readonly LogRecord[]) => void | Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Throws TidemarkError `unavailable` when the broker cannot be reached, or when aborted. */
export async function rescan(request: RescanRequest): Promise<RangeScan> {
  const { reader, topic, range, lost, belongs, onRecords, signal } = request;
  const source = { topic: topic.topic, topicId: topic.topicId, partition: range.partition };
  const seen = { records: 0n, filtered: 0n, markers: 0n, compacted: 0n, contradicted: 0n };
  const lastLost = lost.at(-1)?.last ?? range.start;
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
    // Nearly always all of it lies behind what was lost.
    const mayBeLost = cursor < lastLost;
    const present = mayBeLost ? records.filter(({ offset }) => !isLost(offset, lost)) : records;
    const own = belongs === undefined ? present : present.filter(belongs);
    seen.contradicted += BigInt(records.length - present.length);
    seen.records += BigInt(own.length);
    seen.filtered += BigInt(present.length - own.length);
    for (const { kind, first, last } of holes) {
      const counted = mayBeLost ? sizeOfIntervals(subtractIntervals([{ first, last }], lost)) : last - first + 1n;
      seen[kind === HoleKind.marker ? 'markers' : 'compacted'] += counted;
      // A parked record that compaction took is lost, and a hole.
      if (kind === HoleKind.marker) seen.contradicted += last - first + 1n - counted;
    }
    await onRecords?.(own);
    cursor = end;
  }
  return { ...seen, gone, unread: undefined };
}

function isLost(offset: bigint, lost: readonly OffsetInterval[]): boolean {
  return lost.some(({ first, last }) => first <= offset && offset <= last);
}
