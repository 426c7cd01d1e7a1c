/** Who holds the log, and up to where: the floors and marks of the partitions of interest. */
import type { FloorLook } from '@tidemark/cursors';
import { FLOOR_PLACES_MAX } from '../limits.ts';
import type { ConsoleParts } from './parts.ts';
import { keyOfTrack, type Track } from './tracks.ts';

export type FloorPlace = Pick<Track, 'topic' | 'topicId' | 'partition'>;

/** By place; without an entry nobody has asked, `undefined` while the store is not filled there. */
export type Floors = ReadonlyMap<string, FloorLook | undefined>;

export async function lookAtFloors(
  parts: Pick<ConsoleParts, 'cursors'>,
  places: readonly FloorPlace[],
): Promise<Floors> {
  const { floors } = await parts.cursors();
  const shown = [...new Map(places.map((place) => [keyOfTrack(place), place])).values()].slice(0, FLOOR_PLACES_MAX);
  const looks = await Promise.all(
    shown.map(({ topic, topicId, partition }) => floors.look({ topic, topicId, partition })),
  );
  return new Map(shown.map((place, index) => [keyOfTrack(place), looks[index]]));
}
