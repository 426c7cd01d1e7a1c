/**
 * What the log must keep between the runs of a series: everything behind its last end, in every partition of the topic, those
 * too that no run has seen. The floor follows a run once that is accepted and holds its window itself.
 */
import type { SeriesState } from '@tidemark/contracts';
import type { FloorPlace } from '@tidemark/cursors';
import { holderOf, JobPhase, neededBySeries } from '@tidemark/jobs';
import { describeError, monotonicNowMs, toOffset } from '@tidemark/keyspace';
import type { JobBook } from './job-book.ts';
import { type Need, placeKey } from './needs.ts';
import type { SeriesBook } from './series-book.ts';
import type { Shard } from './shard.ts';

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

function placesOf({ definition, topicId, partitions }: SeriesState, counts: PartitionCounts): readonly FloorPlace[] {
  const seen = partitions.reduce((count, { partition }) => Math.max(count, partition + 1), 0);
  const length = Math.max(seen, counts.get(topicId) ?? 0);
  return Array.from({ length }, (_, partition) => ({ topic: definition.request.topic, topicId, partition }));
}

/** Each round; the keeper asks the store only for what moved, and puts back what somebody removed. */
export async function raiseSeriesFloors(shard: Shard): Promise<void> {
  const { floors } = shard;
  for (const { holder, needs } of needsOfAllSeries(shard)) {
    for (const need of needs) {
      floors.places.set(placeKey(need.place), need.place);
      const answer = await floors.keeper.raise(holder, { acknowledged: need, stored: need.offset });
      if (answer.kind === 'incomplete') floors.checkedAtMs = undefined;
    }
  }
}

/** Partitions are added while nobody runs; until a floor is there, the guard finds it missing and cuts nothing. */
export async function lookForPartitions(shard: Shard): Promise<void> {
  const { parts, partitionsSeenAtMs } = shard;
  if (partitionsSeenAtMs !== undefined && monotonicNowMs() - partitionsSeenAtMs < parts.partitionsLookEveryMs) return;
  shard.partitionsSeenAtMs = monotonicNowMs();
  const topics = new Map(shard.series.held().map(({ definition, topicId }) => [topicId, definition.request.topic]));
  for (const [topicId, topic] of topics) await countPartitions(shard, topic, topicId);
}

async function countPartitions({ parts, partitionCounts }: Shard, topic: string, topicId: string): Promise<void> {
  try {
    const found = await parts.cluster.catalog.describe(topic);
    if (found?.topicId === topicId) partitionCounts.set(topicId, found.partitionCount);
  } catch (error) {
    // It is asked again; a run that is due says what is wrong.
    parts.logger.debug({ topic, error: describeError(error) }, 'series.topic_unknown');
  }
}

/** It is DELETED, durably. */
export async function dropSeriesFloors(shard: Shard, state: SeriesState): Promise<void> {
  await countPartitions(shard, state.definition.request.topic, state.topicId);
  const places = placesOf(state, shard.partitionCounts);
  await shard.floors.keeper.drop(holderOf(state.series), places);
}
