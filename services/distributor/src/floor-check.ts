/**
 * The routine look at all places: those that are incomplete are filled, floors that somebody removed are put back, and those of
 * jobs and series that are over are dropped.
 *
 * Race: A proves that it is the youngest, and is suspended before it confirms the floor of a job; B accepts the job, ends it and
 * drops its floor; A wakes and puts it back, and nobody would drop it again. What is over in the book of the youngest never
 * needs its floor again, so B finds it here.
 * Only the store is asked while nothing is wrong; marks, which a dead guard's transaction may hold back, only to fill.
 * A floor that is above what its holder needs was not put there by us: the caller is told, to ask who did.
 */
import type { FloorLook, FloorPlace } from '@tidemark/cursors';
import type { Offset } from '@tidemark/keyspace';
import type { FloorKeeper } from './floor-keeper.ts';
import { eachOf } from './in-slices.ts';
import { type Need, placeKey } from './needs.ts';

export interface FloorCheck {
  readonly look: (place: FloorPlace) => Promise<FloorLook | undefined>;
  readonly keeper: Pick<FloorKeeper, 'tryFill' | 'restore' | 'dropLeft'>;
  readonly places: readonly FloorPlace[];
  /** Of every accepted job that has not ended; asked after the look, so that one that ended meanwhile stays away. */
  readonly needs: () => Iterable<{ readonly holder: string; readonly needs: readonly Need[] }>;
  /** Its end is durable, and whoever ended it is done with it: asked after the look. */
  readonly isOver: (holder: string) => boolean;
}

export type FloorCheckAnswer =
  | {
      readonly kind: 'checked';
      readonly filled: number;
      readonly restored: number;
      readonly dropped: number;
      /** Floors that somebody else raised above what is needed. */
      readonly ahead: readonly AheadFloor[];
    }
  /** The marks cannot be read now; to be tried again soon. */
  | { readonly kind: 'held back' };

export interface AheadFloor {
  readonly holder: string;
  readonly place: FloorPlace;
}

export async function lookAfterFloors({ look, keeper, places, needs, isOver }: FloorCheck): Promise<FloorCheckAnswer> {
  const incomplete: FloorPlace[] = [];
  const present = new Map<string, ReadonlyMap<string, Offset>>();
  let dropped = 0;
  await eachOf(places, async (place) => {
    const seen = await look(place);
    if (seen === undefined) {
      incomplete.push(place);
      return;
    }
    const staying = stayingFloors(seen);
    present.set(placeKey(place), staying);
    for (const holder of staying.keys()) {
      if (!isOver(holder)) continue;
      await keeper.dropLeft(holder, place);
      dropped += 1;
    }
  });
  const filled = incomplete.length === 0 ? 0 : await keeper.tryFill(incomplete);
  let restored = 0;
  const ahead: AheadFloor[] = [];
  for (const { holder, needs: needed } of needs()) {
    // A place that was not seen is filled with all its floors, now or later.
    const missing = needed.filter(({ place }) => present.get(placeKey(place))?.has(holder) === false);
    if (missing.length > 0) await keeper.restore(holder, missing);
    restored += missing.length;
    // Needs only grow, and they were read after the floors: behind them is where floors are by themselves.
    for (const { place, offset } of needed)
      if ((present.get(placeKey(place))?.get(holder) ?? offset) > offset) ahead.push({ holder, place });
  }
  return filled === undefined ? { kind: 'held back' } : { kind: 'checked', filled, restored, dropped, ahead };
}

function stayingFloors({ floors }: FloorLook): ReadonlyMap<string, Offset> {
  const staying = floors.filter(({ reservedUntilMs }) => reservedUntilMs === undefined);
  return new Map(staying.map(({ holder, offset }) => [holder, offset]));
}
