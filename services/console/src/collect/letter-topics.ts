/** Which topics have dead letters now, among those that jobs and series know. Asking creates no topic. */
import { letterTopic } from '@tidemark/control';
import { lettersFoundUnder } from '@tidemark/jobs';
import { isTopicName } from '@tidemark/keyspace';
import { LETTER_TOPICS_MAX } from '../limits.ts';
import type { DurableStates, JobStates, SeriesStates } from './job-states.ts';
import type { ConsoleParts } from './parts.ts';

export interface LetterTopic {
  /** Whose records the letters are of. */
  readonly topic: string;
  readonly letterTopic: string;
  readonly partitions: number;
  /** Offsets between log start and end: the letters, and what edits and compaction leave between them. */
  readonly offsets: bigint;
}

export interface LetterTopics {
  readonly topics: readonly LetterTopic[];
  /** Topics that were not asked for because there are too many. */
  readonly omitted: number;
}

export async function lookAtLetterTopics(
  { cluster }: Pick<ConsoleParts, 'cluster'>,
  { jobs, series }: DurableStates,
): Promise<LetterTopics> {
  const names = sourceTopics(jobs, series);
  const asked = names.slice(0, LETTER_TOPICS_MAX);
  const found = await Promise.all(asked.map((topic) => lookAt(cluster, topic)));
  return { topics: found.flatMap((topic) => topic ?? []), omitted: names.length - asked.length };
}

/** Those of the newest jobs first. */
export function sourceTopics(jobs: JobStates, series: SeriesStates): readonly string[] {
  const newestFirst = [...jobs.values()].sort((a, b) => Number(b.requestedAtMs - a.requestedAtMs));
  const names = [
    ...newestFirst.map(({ request }) => request.topic),
    ...[...series.values()].map(({ definition }) => definition.request.topic),
  ];
  return [...new Set(names.map(lettersFoundUnder))];
}

async function lookAt(cluster: ConsoleParts['cluster'], topic: string): Promise<LetterTopic | undefined> {
  const letters = isTopicName(topic) ? await letterTopic(cluster, topic) : undefined;
  if (letters === undefined) return undefined;
  const offsets = await cluster.catalog.offsets(letters);
  return {
    topic,
    letterTopic: letters.topic,
    partitions: letters.partitionCount,
    offsets: offsets.reduce((sum, { logStartOffset, highWatermark }) => sum + (highWatermark - logStartOffset), 0n),
  };
}
