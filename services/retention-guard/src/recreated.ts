/** Topics that were deleted and created again: what was known of the former ones means nothing here. Pure. */
import type { JobState, SeriesState } from '@tidemark/contracts';
import { type DurableMarks, isHeld, isTerminal } from '@tidemark/jobs';
import type { TopicDescription } from '@tidemark/log';

/** What to say of the topic and what to do; undefined when there is nothing to say (any more). */
export function recreationOf(
  { topic, topicId }: TopicDescription,
  known: {
    readonly durable: Pick<DurableMarks, 'marks' | 'watches'>;
    readonly states: Iterable<JobState>;
    readonly series: Iterable<SeriesState>;
    /** Nobody has looked at this incarnation before. */
    readonly isFirstLook: boolean;
  },
): string | undefined {
  const former = new Set<string>();
  for (const each of [...known.durable.marks.values(), ...known.durable.watches.values()])
    if (each.topic === topic && each.topicId !== topicId) former.add(each.topicId);
  const stranded: string[] = [];
  for (const { jobId, request, pin, state } of known.states)
    if (request.topic === topic && pin !== null && pin.topicId !== topicId && !isTerminal(state)) stranded.push(jobId);
  const strandedSeries: string[] = [];
  for (const state of known.series)
    if (isHeld(state) && state.definition.request.topic === topic && state.topicId !== topicId)
      strandedSeries.push(state.series);
  const advice = [
    ...(stranded.length === 0
      ? []
      : [`${stranded.join(', ')} read the former one and cannot go on: tidemark job cancel ${stranded.join(' ')}`]),
    ...strandedSeries.map(
      (name) => `series ${name} is of the former one: tidemark series delete ${name}, and create it anew`,
    ),
  ];
  const isNew = former.size > 0 && known.isFirstLook;
  if (!isNew && advice.length === 0) return undefined;
  const ids = former.size > 0 ? ` (before: ${[...former].join(', ')})` : '';
  const todo = advice.length === 0 ? 'there is nothing to be done' : advice.join('; ');
  return `it was deleted and created again, its id is ${topicId}${ids}: nothing is cut by marks of the former one; ${todo}`;
}
