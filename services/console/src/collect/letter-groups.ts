/**
 * The dead letters of a topic by what went wrong, counted while somebody looks: each look reads on from where the last one
 * ended, for a bounded time, so an archive of any size fills in before the eyes of its reader, and what comes later is added.
 * When retention takes letters that were counted, counting begins anew. Memory is bounded by the number of groups.
 */
import { type DeadLetter, LetterGroups, lettersIn, letterTopic } from '@tidemark/control';
import { cursorBefore, describeError, type Offset, toOffset } from '@tidemark/keyspace';
import type { PartitionOffsets, TopicDescription } from '@tidemark/log';
import { LETTER_INDEX_LOOK_MS, LETTER_INDEX_STEP, LETTER_INDEXES_KEPT, LETTER_TEXT_CHARACTERS_MAX } from '../limits.ts';
import type { ConsoleParts } from './parts.ts';

export interface GroupedLetters {
  readonly letterTopic: string;
  readonly groups: ReturnType<LetterGroups['list']>;
  /** Letters of yet other kinds. */
  readonly others: number;
  readonly offsetsPassed: bigint;
  readonly offsetsTotal: bigint;
  readonly cutShort: readonly { readonly partition: number; readonly reason: string }[];
}

export type LettersAnswer =
  | { readonly kind: 'grouped'; readonly letters: GroupedLetters }
  /** The topic is there, and never had one. */
  | { readonly kind: 'no letters' }
  | { readonly kind: 'unknown topic' }
  | { readonly kind: 'unavailable'; readonly reason: string };

export interface LetterIndex {
  /** Reads on, together with whoever asked for the same topic meanwhile, and tells what is known then. */
  of(topic: string): Promise<LettersAnswer>;
}

interface Index {
  readonly topicId: string;
  readonly groups: LetterGroups;
  /** The last offset that was looked at, by partition. */
  readonly cursors: Map<number, Offset>;
  /** Where the logs began when they were counted. */
  readonly starts: Map<number, Offset>;
}

export function createLetterIndex(
  { cluster }: Pick<ConsoleParts, 'cluster'>,
  now: () => number = () => performance.now(),
): LetterIndex {
  const indexes = new Map<string, Index>();
  const pending = new Map<string, Promise<LettersAnswer>>();

  /** A few are kept, the one that was asked for last the longest. */
  function keep(topic: string, index: Index): void {
    indexes.delete(topic);
    indexes.set(topic, index);
    for (const oldest of [...indexes.keys()].slice(0, Math.max(0, indexes.size - LETTER_INDEXES_KEPT)))
      indexes.delete(oldest);
  }

  async function look(topic: string): Promise<LettersAnswer> {
    const letters = await letterTopic(cluster, topic);
    if (letters === undefined) {
      indexes.delete(topic);
      return { kind: (await cluster.catalog.describe(topic)) === undefined ? 'unknown topic' : 'no letters' };
    }
    const offsets = await cluster.catalog.offsets(letters);
    const known = indexes.get(topic);
    const isWhole =
      known?.topicId === letters.topicId &&
      offsets.every(
        ({ partition, logStartOffset }) => (known.starts.get(partition) ?? logStartOffset) === logStartOffset,
      );
    const index = isWhole ? known : newIndex(letters.topicId);
    keep(topic, index);
    for (const { partition, logStartOffset } of offsets) index.starts.set(partition, logStartOffset);
    const cutShort = await readOn(letters, offsets, index);
    const total = offsets.reduce(
      (sum, { logStartOffset, highWatermark }) => sum + (highWatermark - logStartOffset),
      0n,
    );
    const left = offsets.reduce((sum, bounds) => sum + offsetsLeft(index, bounds), 0n);
    return {
      kind: 'grouped',
      letters: {
        letterTopic: letters.topic,
        groups: index.groups.list(),
        others: index.groups.others,
        offsetsPassed: total - left,
        offsetsTotal: total,
        cutShort,
      },
    };
  }

  /** Answers with the partitions that cannot be read to their end now. */
  async function readOn(
    letters: TopicDescription,
    offsets: readonly PartitionOffsets[],
    { cursors, groups }: Index,
  ): Promise<GroupedLetters['cutShort']> {
    const cutShort: { readonly partition: number; readonly reason: string }[] = [];
    const untilMs = now() + LETTER_INDEX_LOOK_MS;
    for (const { partition, logStartOffset, highWatermark } of offsets) {
      const end = cursorBefore(highWatermark);
      let start = cursors.get(partition) ?? cursorBefore(logStartOffset);
      while (start < end && cutShort.at(-1)?.partition !== partition) {
        // What is no letter tells nobody the time: a step is bounded by itself, too.
        const step = {
          partition,
          start,
          end: end - start > LETTER_INDEX_STEP ? toOffset(start + LETTER_INDEX_STEP) : end,
        };
        for await (const item of lettersIn(cluster, letters, [step])) {
          if (item.kind === 'cut short') {
            cutShort.push({ partition, reason: item.reason });
            break;
          }
          groups.add(bounded(item.letter));
          cursors.set(partition, item.letter.record.offset);
          if (now() >= untilMs) return cutShort;
        }
        if (cutShort.at(-1)?.partition !== partition) cursors.set(partition, step.end);
        start = cursors.get(partition) ?? step.end;
        if (now() >= untilMs) return cutShort;
      }
    }
    return cutShort;
  }

  return {
    of(topic) {
      const under = pending.get(topic);
      if (under !== undefined) return under;
      const started = look(topic)
        .catch((error: unknown) => {
          // What was missed is not known, so the next look begins anew.
          indexes.delete(topic);
          return { kind: 'unavailable', reason: describeError(error) } as const;
        })
        .finally(() => pending.delete(topic));
      pending.set(topic, started);
      return started;
    },
  };
}

function offsetsLeft({ cursors }: Index, { partition, logStartOffset, highWatermark }: PartitionOffsets): bigint {
  return cursorBefore(highWatermark) - (cursors.get(partition) ?? cursorBefore(logStartOffset));
}

function newIndex(topicId: string): Index {
  return { topicId, groups: new LetterGroups(), cursors: new Map(), starts: new Map() };
}

function bounded(letter: DeadLetter): DeadLetter {
  const cut = (text: string): string => text.slice(0, LETTER_TEXT_CHARACTERS_MAX);
  const { jobId, handler, faultClass, error } = letter;
  return { ...letter, jobId: cut(jobId), handler: cut(handler), faultClass: cut(faultClass), error: cut(error) };
}
