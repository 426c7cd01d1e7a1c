/**
 * How long a range that its sink fences out is left alone. A sink that lately saw a younger owner lets the next token pass,
 * so the first tries come soon; one that refuses every token would otherwise be asked for ever, several times a second,
 * with a chunk read and counted as perhaps redelivered each time.
 */
import { type Offset, remember } from '@tidemark/keyspace';
import { FENCED_RELEASE_MAX_MS, FENCED_RELEASE_MS, REMEMBERED_FENCED_RANGES_MAX } from '../limits.ts';

/** One for all slots of a worker. */
export class FencedRanges {
  /** By `job/range`. */
  readonly #seen = new Map<string, { readonly cursor: Offset; readonly times: number }>();

  /** Called for each fenced outcome; it grows while the cursor stays where it is. */
  releaseDelayMs(place: { readonly jobId: string; readonly rangeId: string; readonly cursor: Offset }): number {
    const key = `${place.jobId}/${place.rangeId}`;
    const known = this.#seen.get(key);
    const times = known?.cursor === place.cursor ? known.times + 1 : 1;
    remember(this.#seen, { key, value: { cursor: place.cursor, times }, max: REMEMBERED_FENCED_RANGES_MAX });
    return Math.min(FENCED_RELEASE_MAX_MS, FENCED_RELEASE_MS * 2 ** (times - 1));
  }
}
