/** Marks by the partition of the topic incarnation that they are about. Pure. */
import type { TruncationMark } from '@tidemark/contracts';
import { type Offset, toOffset } from '@tidemark/keyspace';
import type { DurableMarks } from './ports.ts';

type MarkedPlace = Pick<TruncationMark, 'topic' | 'topicId' | 'partition'>;

export function markKey({ topic, topicId, partition }: MarkedPlace): string {
  return `${topic}/${topicId}/${partition}`;
}

/** Zero when nothing was ever marked: everything is still promised. */
export function markOf({ marks }: Pick<DurableMarks, 'marks'>, place: MarkedPlace): Offset {
  return toOffset(marks.get(markKey(place))?.offset ?? 0n);
}
