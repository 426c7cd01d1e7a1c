/** Which topics and partitions series need something of: pure. */
import type { SeriesState } from '@tidemark/contracts';
import { isHeld } from '@tidemark/jobs';
import { SERIES_SHOWN_MAX } from '../limits.ts';
import type { FloorPlace } from './floors.ts';
import type { SeriesStates } from './job-states.ts';
import type { LogEnds } from './log-ends.ts';

/** Those that hold a log, by name; what comes after so many is not looked at. */
export function heldSeries(series: SeriesStates): readonly SeriesState[] {
  return [...series.values()].filter(isHeld).sort((a, b) => (a.series < b.series ? -1 : 1));
}

function lookedAt(series: SeriesStates | undefined): readonly SeriesState[] {
  return heldSeries(series ?? new Map()).slice(0, SERIES_SHOWN_MAX);
}

export function seriesTopics(series: SeriesStates | undefined): readonly string[] {
  return lookedAt(series).map(({ definition }) => definition.request.topic);
}

export function seriesPlaces(series: SeriesStates, ends: LogEnds): readonly FloorPlace[] {
  return lookedAt(series).flatMap((state) => placesOf(state, ends));
}

/** All partitions of the topic as it is now, also those that no run has seen; none when it is gone or another one. */
export function placesOf({ definition, topicId }: SeriesState, ends: LogEnds): readonly FloorPlace[] {
  const { topic } = definition.request;
  const found = ends.get(topic);
  if (found?.kind !== 'present' || found.topicId !== topicId) return [];
  return found.partitions.map(({ partition }) => ({ topic, topicId, partition }));
}
