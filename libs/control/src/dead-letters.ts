/** The dead letters of a topic, as somebody who looks into them wants them: one by one, or by what went wrong. */
import { type DeadLetterFacts, deadLetterFacts, deadLetterTopic } from '@tidemark/jobs';
import { cursorBefore, isTopicName, type PartitionWindow, toOffset } from '@tidemark/keyspace';
import type { LogCluster, LogRecord, TopicDescription } from '@tidemark/log';
import { LETTER_GROUPS_MAX } from './limits.ts';
import { readWindow } from './read-window.ts';

export interface DeadLetter extends DeadLetterFacts {
  /** Where the letter lies in its own topic. */
  readonly partition: number;
  readonly record: LogRecord;
}

export interface LetterFilter {
  readonly jobId?: string | undefined;
  readonly faultClass?: string | undefined;
}

export type LetterItem =
  | { readonly kind: 'letter'; readonly letter: DeadLetter }
  | { readonly kind: 'cut short'; readonly partition: number; readonly reason: string };

/** Undefined when the topic never had one; one whose name leaves no room for the ending never will. */
export async function letterTopic(
  { catalog }: Pick<LogCluster, 'catalog'>,
  topic: string,
): Promise<TopicDescription | undefined> {
  const name = deadLetterTopic(topic);
  return isTopicName(name) ? await catalog.describe(name) : undefined;
}

/** Those that are there now, partition by partition, in the order in which they were written. */
export async function* deadLetters(
  cluster: Pick<LogCluster, 'catalog' | 'openReader'>,
  letters: TopicDescription,
  filter: LetterFilter = {},
  signal?: AbortSignal,
): AsyncGenerator<LetterItem, void, undefined> {
  for await (const item of lettersIn(cluster, letters, await letterWindows(cluster, letters), signal))
    if (item.kind === 'cut short' || matchesLetter(item.letter, filter)) yield item;
}

/** All that is there now. */
export async function letterWindows(
  { catalog }: Pick<LogCluster, 'catalog'>,
  letters: TopicDescription,
): Promise<readonly PartitionWindow[]> {
  return (await catalog.offsets(letters)).map(({ partition, logStartOffset, highWatermark }) => ({
    partition,
    start: cursorBefore(logStartOffset),
    end: cursorBefore(highWatermark),
  }));
}

/** As `deadLetters`, of given windows. */
export async function* lettersIn(
  cluster: Pick<LogCluster, 'openReader'>,
  letters: TopicDescription,
  windows: readonly PartitionWindow[],
  signal?: AbortSignal,
): AsyncGenerator<LetterItem, void, undefined> {
  for await (const item of readWindow(cluster, letters, windows, signal === undefined ? {} : { signal })) {
    if (item.kind === 'cut short') {
      yield item;
      continue;
    }
    const { partition, record } = item;
    const facts = deadLetterFacts(record.headers);
    if (facts !== undefined) yield { kind: 'letter', letter: { ...facts, partition, record } };
  }
}

/** The one at a place of the dead-letter topic; undefined when there is none any more. */
export async function deadLetterAt(
  cluster: Pick<LogCluster, 'openReader'>,
  letters: TopicDescription,
  place: { readonly partition: number; readonly offset: bigint },
): Promise<DeadLetter | undefined> {
  const end = toOffset(place.offset);
  const window = { partition: place.partition, start: cursorBefore(end), end };
  for await (const item of readWindow(cluster, letters, [window])) {
    if (item.kind === 'cut short') return undefined;
    const facts = deadLetterFacts(item.record.headers);
    return facts && { ...facts, partition: item.partition, record: item.record };
  }
  return undefined;
}

export function matchesLetter({ jobId, faultClass }: DeadLetterFacts, filter: LetterFilter): boolean {
  return (
    (filter.jobId === undefined || filter.jobId === jobId) &&
    (filter.faultClass === undefined || filter.faultClass === faultClass)
  );
}

export interface LetterGroup {
  readonly jobId: string;
  readonly handler: string;
  readonly faultClass: string;
  /** Without its numbers, which would make a group of each record. */
  readonly error: string;
  count: number;
  /** Corrected copies among them. */
  edited: number;
  readonly firstAtMs: bigint;
  lastAtMs: bigint;
  /** The newest, to look at. */
  newest: { readonly partition: number; readonly offset: bigint };
}

/** Groups letters by job, handler and what went wrong; the most frequent first. What would be one group too many is told in `others`. */
export class LetterGroups {
  readonly #groups = new Map<string, LetterGroup>();
  #others = 0;

  get others(): number {
    return this.#others;
  }

  add({ jobId, handler, faultClass, error, partition, record, edit }: DeadLetter): void {
    const shape = error.replaceAll(/\d+/g, '#');
    const id = JSON.stringify([jobId, handler, faultClass, shape]);
    const newest = { partition, offset: record.offset };
    const { timestampMs: atMs } = record;
    const edited = edit > 0 ? 1 : 0;
    const group = this.#groups.get(id);
    if (group !== undefined) {
      group.count += 1;
      group.edited += edited;
      group.newest = newest;
      if (atMs > group.lastAtMs) group.lastAtMs = atMs;
    } else if (this.#groups.size < LETTER_GROUPS_MAX)
      this.#groups.set(id, {
        jobId,
        handler,
        faultClass,
        error: shape,
        count: 1,
        edited,
        firstAtMs: atMs,
        lastAtMs: atMs,
        newest,
      });
    else this.#others += 1;
  }

  list(): readonly LetterGroup[] {
    return [...this.#groups.values()].sort((a, b) => b.count - a.count);
  }
}
