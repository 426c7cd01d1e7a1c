/**
 * The routine look at all places: those that are incomplete are filled, floors that somebody removed are put back, and those of
 * jobs and series that are over are dropped.
 *
 * Race: A proves that it is the youngest, and is suspended before it confirms the floor of a job; B accepts the job, ends it and
 * drops its floor; A wakes and puts it back, and nobody would drop it again. What is over in the book of the youngest never
 * needs its floor again, so B finds it here.
 * Only the store is asked while nothing is wrong; marks, which a dead guard's transaction may hold back, only to fill.
 */
import type { FloorLook, FloorPlace } from '@tidemark/cursors';
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
  | { readonly kind: 'checked'; readonly filled: number; readonly restored: number; readonly dropped: number }
  /** The marks cannot be read now; to be tried again soon. */
  | { readonly kind: 'held back' };

export async function lookAfterFloors({ look, keeper, places, needs, isOver }: FloorCheck): Promise<FloorCheckAnswer> {
  const incomplete: FloorPlace[] = [];
  const present = new Map<string, ReadonlySet<string>>();
  let dropped = 0;
  await eachOf(places, async (place) => {
    const seen = await look(place);
    if (seen === undefined) {
      incomplete.push(place);
      return;
    }
    const holders = stayingHolders(seen);
    present.set(placeKey(place), holders);
    for (const holder of holders) {
      if (!isOver(holder)) continue;
      await keeper.dropLeft(holder, place);
      dropped += 1;
    }
  });
  const filled = incomplete.length === 0 ? 0 : await keeper.tryFill(incomplete);
  let restored = 0;
  for (const { holder, needs: needed } of needs()) {
    // A place that was not seen is filled with all its floors, now or later.
    const missing = needed.filter(({ place }) => present.get(placeKey(place))?.has(holder) === false);
    if (missing.length > 0) await keeper.restore(holder, missing);
    restored += missing.length;
  }
  return filled === undefined ? { kind: 'held back' } : { kind: 'checked', filled, restored, dropped };
}

function stayingHolders({ floors }: FloorLook): ReadonlySet<string> {
  return new Set(floors.filter(({ reservedUntilMs }) => reservedUntilMs === undefined).map(({ holder }) => holder));
}
