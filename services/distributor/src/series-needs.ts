/**
 * What the log must keep between the runs of a series: everything behind its last end, in every partition of the topic, those
 * too that no run has seen. The need follows a run once that is accepted and holds its window itself. Pure.
 */
import type { SeriesState } from '@tidemark/contracts';
import type { FloorPlace } from '@tidemark/cursors';
import { holderOf, JobPhase, neededBySeries } from '@tidemark/jobs';
import { toOffset } from '@tidemark/keyspace';
import type { JobBook } from './job-book.ts';
import type { Need } from './needs.ts';
import type { SeriesBook } from './series-book.ts';

/** How many partitions a topic has, by topic id, as far as somebody looked. */
export type PartitionCounts = ReadonlyMap<string, number>;

export interface SeriesFacts {
  readonly series: SeriesBook;
  readonly book: JobBook;
  readonly partitionCounts: PartitionCounts;
}

export function* needsOfAllSeries(facts: SeriesFacts): Generator<{ holder: string; needs: readonly Need[] }> {
  for (const state of facts.series.held()) yield { holder: holderOf(state.series), needs: needsOfSeries(state, facts) };
}

export function needsOfSeries(
  state: SeriesState,
  { book, partitionCounts }: Pick<SeriesFacts, 'book' | 'partitionCounts'>,
): readonly Need[] {
  const starts = startsOfUnaccepted(state, book);
  return placesOf(state, partitionCounts).map((place) => {
    const needed = neededBySeries(state.partitions, place.partition);
    const start = starts.get(place.partition);
    return { place, offset: toOffset(start === undefined || start >= needed ? needed : start + 1n) };
  });
}

/** A run whose reservation is no floor yet: until then the series holds its window. */
function startsOfUnaccepted({ liveRun }: SeriesState, book: JobBook): ReadonlyMap<number, bigint> {
  const run = liveRun === '' ? undefined : book.state(liveRun);
  if (run === undefined || run.pin === null || run.state !== JobPhase.pinning) return new Map();
  return new Map(run.pin.partitions.map(({ partition, start }) => [partition, start]));
}

export function placesOf(
  { definition, topicId, partitions }: SeriesState,
  counts: PartitionCounts,
): readonly FloorPlace[] {
  const seen = partitions.reduce((count, { partition }) => Math.max(count, partition + 1), 0);
  const length = Math.max(seen, counts.get(topicId) ?? 0);
  return Array.from({ length }, (_, partition) => ({ topic: definition.request.topic, topicId, partition }));
}
