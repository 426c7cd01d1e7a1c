/** A range may end lower than when its chunk was read: what lies above belongs to somebody else. */
import type { Offset } from '@tidemark/keyspace';
import { offsetMax, offsetMin } from '@tidemark/keyspace';
import type { Chunk } from '@tidemark/log';

export function clipChunk(chunk: Chunk, end: Offset): Chunk {
  if (chunk.end <= end) return chunk;
  const records = chunk.records.filter((record) => record.offset <= end);
  const holes = chunk.holes
    .filter((hole) => hole.first <= end)
    .map((hole) => ({ ...hole, last: offsetMin(hole.last, end) }));
  const bytes = records.length === 0 ? 0 : Math.round((chunk.bytes * records.length) / chunk.records.length);
  return { start: chunk.start, end: offsetMax(chunk.start, end), records, holes, bytes };
}
