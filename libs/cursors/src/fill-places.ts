/**
 * Filling places, in the one order that is right:
 *
 * 1. ask which life the store is in, so that a change from here on is noticed at the end;
 * 2. withhold the places: no guard gets a mark there any more, and none passes its last check;
 * 3. read the durable marks: whoever passed that check earlier had made its mark durable before, so it is in what we read;
 * 4. read who needs what, and install both.
 *
 * With 3 before 2, a guard could have its check pass and its deletion under way while we install an older mark; a job would
 * then be let in below what is just being deleted.
 */
import { inSlices, type Offset } from '@tidemark/keyspace';
import type { Floor, FloorPlace, FloorStore } from './floor-ports.ts';
import { FILL_PLACES_AT_ONCE } from './limits.ts';

const SLICES = { atOnce: FILL_PLACES_AT_ONCE };

type DurableFloor = Pick<Floor, 'holder' | 'offset'>;

export interface Filling {
  /** Those that are complete are left as they are. */
  readonly places: readonly FloorPlace[];
  /** A text that nobody used before. */
  readonly life: string;
  readonly readMarks: () => Promise<(place: FloorPlace) => Offset>;
  /**
   * What holders need that were confirmed; also below the mark. A mark above such a floor was made durable too late by a
   * guard that then found the place filled anew, and cut nothing.
   */
  readonly readFloors: () => Promise<(place: FloorPlace) => readonly DurableFloor[]>;
}

export interface FillingAnswer {
  readonly filled: readonly FloorPlace[];
  /** Somebody else fills them, or the store changed meanwhile: fill again. */
  readonly superseded: readonly FloorPlace[];
}

export async function fillPlaces(
  store: Pick<FloorStore, 'incarnation' | 'withhold' | 'install'>,
  { places, life, readMarks, readFloors }: Filling,
): Promise<FillingAnswer> {
  const filled: FloorPlace[] = [];
  const superseded: FloorPlace[] = [];
  const incarnation = await store.incarnation();
  const withheld: FloorPlace[] = [];
  await inSlices(places, SLICES, async (place) => {
    if ((await store.withhold({ place, life })).kind === 'withheld') withheld.push(place);
  });
  if (withheld.length === 0) return { filled, superseded };
  const markAt = await readMarks();
  const floorsAt = await readFloors();
  await inSlices(withheld, SLICES, async (place) => {
    const mark = markAt(place);
    const answer = await store.install({ place, life, incarnation, mark, floors: floorsAt(place) });
    (answer.kind === 'installed' ? filled : superseded).push(place);
  });
  return { filled, superseded };
}
