/** The floors of series: raised each round, looked for in added partitions, dropped when the series is deleted. */
import type { SeriesState } from '@tidemark/contracts';
import { holderOf } from '@tidemark/jobs';
import { describeError, monotonicNowMs } from '@tidemark/keyspace';
import { placeKey } from './needs.ts';
import { needsOfAllSeries, placesOf } from './series-needs.ts';
import type { Shard } from './shard.ts';

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
  if (partitionsSeenAtMs !== undefined && monotonicNowMs() - partitionsSeenAtMs < parts.floorsLookEveryMs) return;
  shard.partitionsSeenAtMs = monotonicNowMs();
  const topics = new Map(shard.series.held().map(({ definition, topicId }) => [topicId, definition.request.topic]));
  for (const [topicId, topic] of topics) await countPartitions(shard, topic, topicId);
}

/** Left as it was while the topic does not answer, or is another one. */
export async function countPartitions(
  { parts, partitionCounts }: Shard,
  topic: string,
  topicId: string,
): Promise<void> {
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
