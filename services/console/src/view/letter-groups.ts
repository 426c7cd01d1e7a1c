/** Which topics have dead letters, and what went wrong with them: pure. */
import type { Sight } from '../collect/collector.ts';
import { knownValue } from '../collect/feed.ts';
import type { GroupedLetters } from '../collect/letter-groups.ts';
import { LETTER_GROUPS_SHOWN_MAX } from '../limits.ts';
import type { LetterGroups, LetterTopics } from './letter-schemas.ts';
import { bounded, instant, instantOrNull, reasonOf } from './words.ts';

export function letterTopicsView(sight: Sight): LetterTopics {
  const found = knownValue(sight.letterTopics);
  return {
    asOf: instant(sight.nowMs),
    unknown: reasonOf(sight.letterTopics),
    topics: [...(found?.topics ?? [])]
      .sort((a, b) => (a.topic < b.topic ? -1 : 1))
      .map(({ topic, letterTopic, partitions, offsets }) => ({
        topic,
        letterTopic,
        partitions,
        offsets: offsets.toString(),
      })),
    omitted: found?.omitted ?? 0,
  };
}

/** Undefined: the topic never had a dead letter. */
export function letterGroupsView(topic: string, letters: GroupedLetters | undefined): LetterGroups {
  const { rows, omitted } = bounded(letters?.groups ?? [], LETTER_GROUPS_SHOWN_MAX);
  return {
    topic,
    letterTopic: letters?.letterTopic ?? null,
    offsetsPassed: (letters?.offsetsPassed ?? 0n).toString(),
    offsetsTotal: (letters?.offsetsTotal ?? 0n).toString(),
    groups: rows.map(({ jobId, handler, faultClass, error, count, edited, firstAtMs, lastAtMs, newest }) => ({
      jobId,
      handler,
      faultClass,
      error,
      letters: count,
      edited,
      firstAt: instantOrNull(firstAtMs),
      lastAt: instantOrNull(lastAtMs),
      newest: { partition: newest.partition, offset: newest.offset.toString() },
    })),
    groupsOmitted: omitted,
    others: letters?.others ?? 0,
    cutShort: [...(letters?.cutShort ?? [])],
  };
}
