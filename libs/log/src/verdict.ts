/**
 * What the offsets of a partition say about a position that yielded nothing. Neither an empty answer nor an
 * out-of-range error proves anything by itself, so the reader asks and decides here.
 */
import { type Offset, offsetMin, toOffset } from '@tidemark/keyspace';
import type { PartitionOffsets, ReadAnswer } from './ports.ts';

export type Verdict =
  | Extract<ReadAnswer, { kind: 'lost' | 'log went back' | 'open transaction' | 'end of log' }>
  /** The log says that something readable is there, or was compacted away: ask again. */
  | { readonly kind: 'readable' };

/**
 * `offsets` must have been asked in the order high watermark, last stable offset: then `lastStableOffset < highWatermark`
 * means an open transaction at that instant, and not one that ended between the two questions.
 */
export function verdictOf(
  position: { readonly nextOffset: Offset; readonly end: Offset },
  offsets: PartitionOffsets,
): Verdict {
  const { nextOffset, end } = position;
  const { logStartOffset, lastStableOffset, highWatermark } = offsets;
  if (nextOffset < logStartOffset) {
    return { kind: 'lost', first: nextOffset, last: offsetMin(end, toOffset(logStartOffset - 1n)), logStartOffset };
  }
  if (nextOffset > highWatermark) return { kind: 'log went back', highWatermark };
  if (nextOffset === highWatermark) return { kind: 'end of log', highWatermark };
  if (nextOffset >= lastStableOffset) return { kind: 'open transaction', lastStableOffset, highWatermark };
  return { kind: 'readable' };
}
