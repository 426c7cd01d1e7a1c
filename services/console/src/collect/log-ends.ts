/** Where the logs begin and end. Asking creates no topic, and a topic that cannot answer does not silence the others. */
import { describeError } from '@tidemark/keyspace';
import type { PartitionOffsets } from '@tidemark/log';
import type { ConsoleParts } from './parts.ts';

export type TopicEnds =
  | { readonly kind: 'present'; readonly topicId: string; readonly partitions: readonly PartitionOffsets[] }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unknown'; readonly reason: string };

export type LogEnds = ReadonlyMap<string, TopicEnds>;

export async function lookAtEnds(
  { cluster }: Pick<ConsoleParts, 'cluster'>,
  topics: Iterable<string>,
): Promise<LogEnds> {
  const names = [...new Set(topics)];
  const ends = await Promise.all(names.map((topic) => endsOf(cluster.catalog, topic)));
  return new Map(names.map((name, index) => [name, ends[index] ?? { kind: 'missing' }]));
}

async function endsOf(catalog: ConsoleParts['cluster']['catalog'], topic: string): Promise<TopicEnds> {
  try {
    const found = await catalog.describe(topic);
    if (found === undefined) return { kind: 'missing' };
    return { kind: 'present', topicId: found.topicId, partitions: await catalog.offsets(found) };
  } catch (error) {
    return { kind: 'unknown', reason: describeError(error) };
  }
}

/** Undefined when the topic is gone, was created anew, or did not answer. */
export function offsetsOf(
  ends: LogEnds | undefined,
  place: { readonly topic: string; readonly topicId: string; readonly partition: number },
): PartitionOffsets | undefined {
  const found = ends?.get(place.topic);
  if (found?.kind !== 'present' || found.topicId !== place.topicId) return undefined;
  return found.partitions.find(({ partition }) => partition === place.partition);
}
