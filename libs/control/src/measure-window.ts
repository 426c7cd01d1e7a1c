/** How many records of a window a job would be about, and their bytes: counted where that is cheap or asked for, else estimated. */
import {
  cursorBefore,
  isEmpty,
  type Offset,
  offsetMax,
  offsetMin,
  type PartitionWindow,
  type Window,
  windowSize,
} from '@tidemark/keyspace';
import {
  type Chunk,
  describeReadRefusal,
  type LogReader,
  type LogRecord,
  type Source,
  sampleChunks,
} from '@tidemark/log';
import {
  COUNTED_ALWAYS_BYTES,
  COUNTED_ALWAYS_OFFSETS,
  READ_CHUNK_BYTES,
  READ_CHUNK_RECORDS,
  READ_WAIT_MS,
} from './limits.ts';

export interface Amount {
  readonly value: bigint;
  /** Every record of the window was read. */
  readonly isExact: boolean;
}

export interface Measure {
  /** Committed records that the job is about; null when nothing could be read. */
  readonly matched: Amount | null;
  /** Payload of all that is scanned, matched or not; null when nothing could be read. */
  readonly bytes: Amount | null;
  readonly bytesPerOffset: number | undefined;
  /** Epoch ms, of the first record of the window; null when none was seen. */
  readonly oldestMs: bigint | null;
  /** Why it could not be read to its end; '' when it could, or did not have to be. */
  readonly cutShort: string;
}

export interface MeasureOptions {
  readonly belongs: (record: LogRecord) => boolean;
  /** No record before it is too late for the window; what is behind it may be. Left out when no end by time was asked for. */
  readonly firstTooLate?: Offset | undefined;
  /** Read everything, however much it is. */
  readonly count: boolean;
  readonly signal?: AbortSignal;
}

const NOTHING: Measure = {
  matched: { value: 0n, isExact: true },
  bytes: { value: 0n, isExact: true },
  bytesPerOffset: 0,
  oldestMs: null,
  cutShort: '',
};

/** Bounded unless `count`: a first look of a fetch or two, then a few places. Throws as the reader does. */
export async function measureWindow(
  reader: LogReader,
  source: Source,
  window: PartitionWindow,
  options: MeasureOptions,
): Promise<Measure> {
  if (isEmpty(window)) return NOTHING;
  const first = await countFrom(reader, source, window, options);
  const { tally } = first;
  if (first.isWhole) {
    return {
      matched: { value: tally.matched, isExact: true },
      bytes: { value: BigInt(tally.bytes), isExact: true },
      bytesPerOffset: tally.bytes / Number(windowSize(window)),
      oldestMs: tally.oldestMs,
      cutShort: '',
    };
  }
  const sampled: Sampled[] = [];
  for (const part of partsOf(window, options.firstTooLate))
    sampled.push({ part, chunks: await sampleChunks(reader, source, part) });
  return { ...estimate(sampled, options.belongs), oldestMs: tally.oldestMs, cutShort: first.cutShort };
}

interface Tally {
  readonly matched: bigint;
  readonly bytes: number;
  readonly oldestMs: bigint | null;
}

async function countFrom(
  reader: LogReader,
  source: Source,
  window: Window,
  { belongs, count, signal }: MeasureOptions,
): Promise<{ readonly tally: Tally; readonly isWhole: boolean; readonly cutShort: string }> {
  let [cursor, matched, bytes, oldestMs] = [window.start, 0n, 0, null as bigint | null];
  const isEnough = (): boolean =>
    !count && (cursor - window.start >= COUNTED_ALWAYS_OFFSETS || bytes >= COUNTED_ALWAYS_BYTES);
  while (cursor < window.end && !isEnough()) {
    const limits = { recordsMax: READ_CHUNK_RECORDS, bytesMax: READ_CHUNK_BYTES, waitMs: READ_WAIT_MS };
    const answer = await reader.read({ source, cursor, end: window.end, ...limits, ...(signal && { signal }) });
    if (answer.kind !== 'chunk') {
      const cutShort = `cannot be read beyond ${cursor}: ${describeReadRefusal(answer)}`;
      return { tally: { matched, bytes, oldestMs }, isWhole: false, cutShort };
    }
    for (const record of answer.chunk.records) if (belongs(record)) matched += 1n;
    oldestMs ??= answer.chunk.records[0]?.timestampMs ?? null;
    bytes += answer.chunk.bytes;
    cursor = answer.chunk.end;
  }
  return { tally: { matched, bytes, oldestMs }, isWhole: cursor >= window.end, cutShort: '' };
}

/** In a log that is in order of time all that matches is before the first record that is too late, and nothing behind it. */
function partsOf(window: Window, firstTooLate: Offset | undefined): readonly Window[] {
  if (firstTooLate === undefined) return [window];
  const cut = offsetMin(window.end, offsetMax(window.start, cursorBefore(firstTooLate)));
  return [
    { start: window.start, end: cut },
    { start: cut, end: window.end },
  ].filter((part) => !isEmpty(part));
}

interface Sampled {
  readonly part: Window;
  readonly chunks: readonly Chunk[];
}

function estimate(
  sampled: readonly Sampled[],
  belongs: (record: LogRecord) => boolean,
): Pick<Measure, 'matched' | 'bytes' | 'bytesPerOffset'> {
  if (sampled.some(({ chunks }) => chunks.length === 0))
    return { matched: null, bytes: null, bytesPerOffset: undefined };
  let [matched, bytes, offsets] = [0, 0, 0];
  for (const { part, chunks } of sampled) {
    const size = Number(windowSize(part));
    const passed = sum(chunks.map(passedOf));
    // Each place stands for its neighbourhood, however little of it one answer held; but one large record must not.
    matched +=
      size * (sum(chunks.map((chunk) => chunk.records.filter(belongs).length / passedOf(chunk))) / chunks.length);
    bytes += size * (sum(chunks.map((chunk) => chunk.bytes)) / passed);
    offsets += size;
  }
  return {
    matched: { value: BigInt(Math.round(matched)), isExact: false },
    bytes: { value: BigInt(Math.round(bytes)), isExact: false },
    bytesPerOffset: bytes / offsets,
  };
}

function passedOf({ start, end }: Chunk): number {
  return Number(end - start);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
