/** How large the records of a partition are, and what else is to be known, from a few of them. */
import { cursorBefore, toOffset, type Window } from '@tidemark/keyspace';
import { SAMPLE_BYTES, SAMPLE_PLACES, SAMPLE_RECORDS, SAMPLE_WAIT_MS } from './limits.ts';
import type { Chunk, LogReader, PartitionOffsets, Source } from './ports.ts';

type Span = Pick<PartitionOffsets, 'logStartOffset' | 'lastStableOffset'>;

interface Sample {
  readonly bytes: number;
  readonly passed: bigint;
}

/**
 * Payload bytes per offset, holes counted as nothing; 0 when nothing could be read. An estimate: the broker tells only the
 * sizes of whole segments, compressed, and those still count records that were deleted already.
 */
export async function sampleBytesPerOffset(reader: LogReader, source: Source, span: Span): Promise<number> {
  const samples = await samplePlaces(reader, source, span);
  const passed = samples.reduce((sum, sample) => sum + sample.passed, 0n);
  return passed === 0n ? 0 : samples.reduce((sum, { bytes }) => sum + bytes, 0) / Number(passed);
}

/**
 * The same of the place with the smallest records: for whoever deletes by it, and so must rather keep too much. A mean
 * would be that of one large record, which fills the answer of its place alone.
 */
export async function sampleLowestBytesPerOffset(reader: LogReader, source: Source, span: Span): Promise<number> {
  const samples = await samplePlaces(reader, source, span);
  return samples.length === 0 ? 0 : Math.min(...samples.map(({ bytes, passed }) => bytes / Number(passed)));
}

async function samplePlaces(
  reader: LogReader,
  source: Source,
  { logStartOffset, lastStableOffset }: Span,
): Promise<readonly Sample[]> {
  const window = { start: cursorBefore(logStartOffset), end: cursorBefore(lastStableOffset) };
  const chunks = await sampleChunks(reader, source, window);
  return chunks.map(({ bytes, start, end }) => ({ bytes, passed: end - start }));
}

/**
 * What lies at a few evenly spread places of a window, its start among them: a chunk each, in this order. A place that cannot
 * be read, because an open transaction is before it or the log was cut, is left out. Throws as the reader does.
 */
export async function sampleChunks(reader: LogReader, source: Source, window: Window): Promise<readonly Chunk[]> {
  const { start, end } = window;
  const chunks: Chunk[] = [];
  for (let place = 0; place < SAMPLE_PLACES; place++) {
    const cursor = toOffset(start + ((end - start) * BigInt(place)) / BigInt(SAMPLE_PLACES));
    if (cursor >= end) continue;
    const limits = { recordsMax: SAMPLE_RECORDS, bytesMax: SAMPLE_BYTES, waitMs: SAMPLE_WAIT_MS };
    const answer = await reader.read({ source, cursor, end, ...limits });
    if (answer.kind === 'chunk' && answer.chunk.end > answer.chunk.start) chunks.push(answer.chunk);
  }
  return chunks;
}
