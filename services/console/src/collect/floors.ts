/** Who holds the log, and up to where: the floors and marks of the partitions of interest. */
import type { FloorLook } from '@tidemark/cursors';
import { PARTITIONS_SHOWN_MAX } from '../limits.ts';
import type { ConsoleParts } from './parts.ts';
import { keyOfTrack, type Track } from './tracks.ts';

/** By place; without an entry nobody has asked, `undefined` while the store is not filled there. */
export type Floors = ReadonlyMap<string, FloorLook | undefined>;

export async function lookAtFloors(parts: Pick<ConsoleParts, 'cursors'>, tracks: readonly Track[]): Promise<Floors> {
  const { floors } = await parts.cursors();
  const shown = tracks.slice(0, PARTITIONS_SHOWN_MAX);
  const looks = await Promise.all(
    shown.map(({ topic, topicId, partition }) => floors.look({ topic, topicId, partition })),
  );
  return new Map(shown.map((track, index) => [keyOfTrack(track), looks[index]]));
}
