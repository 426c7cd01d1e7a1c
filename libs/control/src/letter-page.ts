/**
 * A bounded look into dead letters for somebody who pages through them: so many letters that match, found among so many
 * records in so much time; and the place at which the next look goes on. A search of any size is such looks one after the
 * other, and whoever makes them may stop after each.
 */
import { cursorBefore, offsetMin, type PartitionWindow, toOffset } from '@tidemark/keyspace';
import type { LogCluster, TopicDescription } from '@tidemark/log';
import { type DeadLetter, type LetterFilter, lettersIn, letterWindows, matchesLetter } from './dead-letters.ts';

export interface LetterPlace {
  readonly partition: number;
  readonly offset: bigint;
}

export interface LetterPageQuestion {
  readonly filter: LetterFilter & {
    readonly partition?: number | undefined;
    /** Byte by byte. */
    readonly key?: Buffer | undefined;
  };
  /** Where the last look ended; the beginning when left out. */
  readonly from?: LetterPlace | undefined;
  readonly lettersMax: number;
  readonly offsetsMax: bigint;
  /** By this clock, in milliseconds; a look is longer by the one record that it reads last. */
  readonly timeMs: number;
  readonly now?: () => number;
  readonly signal?: AbortSignal;
}

export interface LetterPage<Letter> {
  readonly letters: readonly Letter[];
  /** Offsets that lie before the place at which this look ended, and all there are. */
  readonly passed: bigint;
  readonly total: bigint;
  /** Undefined when it is the end. */
  readonly next: LetterPlace | undefined;
  readonly cutShort: readonly { readonly partition: number; readonly reason: string }[];
}

/** `take` makes of a letter what is kept of it: a page of previews does not hold the records themselves. */
export async function letterPage<Letter>(
  cluster: Pick<LogCluster, 'catalog' | 'openReader'>,
  letters: TopicDescription,
  question: LetterPageQuestion,
  take: (letter: DeadLetter) => Letter,
): Promise<LetterPage<Letter>> {
  const { filter, from, lettersMax, offsetsMax, timeMs, now = () => performance.now(), signal } = question;
  const all = (await letterWindows(cluster, letters))
    .filter(({ partition }) => filter.partition === undefined || partition === filter.partition)
    .sort((a, b) => a.partition - b.partition);
  const windows = all.flatMap((window) => restOf(window, from));
  const untilMs = now() + timeMs;
  const found: Letter[] = [];
  const cutShort: { readonly partition: number; readonly reason: string }[] = [];
  let left = offsetsMax;
  for (const [index, window] of windows.entries()) {
    const bounded = { ...window, end: offsetMin(window.end, toOffset(window.start + left)) };
    for await (const item of lettersIn(cluster, letters, [bounded], signal)) {
      if (item.kind === 'cut short') {
        cutShort.push({ partition: item.partition, reason: item.reason });
        continue;
      }
      const { letter } = item;
      if (matchesPage(letter, filter)) found.push(take(letter));
      if (found.length < lettersMax && now() < untilMs) continue;
      return pageUpTo({ partition: window.partition, offset: letter.record.offset + 1n });
    }
    left -= bounded.end - bounded.start;
    if (bounded.end < window.end) return pageUpTo({ partition: window.partition, offset: bounded.end + 1n });
    if (now() >= untilMs) {
      const following = windows[index + 1];
      if (following !== undefined) return pageUpTo({ partition: following.partition, offset: following.start + 1n });
    }
  }
  return { letters: found, passed: offsetsOf(all), total: offsetsOf(all), next: undefined, cutShort };

  function pageUpTo(place: LetterPlace): LetterPage<Letter> {
    const rest = all.flatMap((window) => restOf(window, place));
    const total = offsetsOf(all);
    return {
      letters: found,
      passed: total - offsetsOf(rest),
      total,
      next: rest.length === 0 ? undefined : place,
      cutShort,
    };
  }
}

/** What of a window lies at the place or behind it. */
function restOf(window: PartitionWindow, from: LetterPlace | undefined): readonly PartitionWindow[] {
  if (from !== undefined && window.partition < from.partition) return [];
  const start =
    from?.partition === window.partition && from.offset > window.start
      ? cursorBefore(toOffset(from.offset))
      : window.start;
  return start >= window.end ? [] : [{ ...window, start }];
}

function offsetsOf(windows: readonly PartitionWindow[]): bigint {
  return windows.reduce((sum, { start, end }) => sum + (end - start), 0n);
}

function matchesPage(letter: DeadLetter, filter: LetterPageQuestion['filter']): boolean {
  if (!matchesLetter(letter, filter)) return false;
  return filter.key === undefined || (letter.record.key !== null && filter.key.equals(letter.record.key));
}
