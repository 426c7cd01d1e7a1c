/**
 * The distributor's half of the floors (the guard's is in its own room): reserve at the pin, confirm when the job is
 * durable, raise behind acknowledged checkpoints, drop at the close; and filling places that the store lost.
 *
 * A place that is incomplete is filled on the way, from what is durable. Every operation may be repeated.
 */
import { type Filling, type FloorPlace, type FloorStore, fillPlaces, type PlaceIncomplete } from '@tidemark/cursors';
import { type DurableMarks, type MarkLog, markOf } from '@tidemark/jobs';
import { ErrorClass, type Offset, offsetMin, TidemarkError } from '@tidemark/keyspace';
import { MARKS_WAIT_MS, PLACE_ATTEMPTS_MAX, RESERVATION_TTL_MS } from './limits.ts';
import { type Need, placeKey } from './needs.ts';

export interface FloorKeeperParts {
  readonly store: Pick<FloorStore, 'reserve' | 'confirm' | 'raise' | 'drop' | 'withhold' | 'install' | 'incarnation'>;
  readonly loadMarks: (...options: Parameters<MarkLog['load']>) => Promise<Pick<DurableMarks, 'marks'>>;
  /** What all accepted jobs need: min(what a restore would yield from acknowledged checkpoints, what the store shows). */
  readonly readFloors: Filling['readFloors'];
  /** That nobody younger fills the store; how old the proof may be is the shard's to say, unless it is doubted. */
  readonly prove: (trustMs?: number) => Promise<void>;
  /** A text that nobody used before. */
  readonly newLife: () => string;
}

export type Reserved = { readonly kind: 'reserved' } | { readonly kind: 'below mark'; readonly mark: Offset };

export type Confirmed =
  | { readonly kind: 'confirmed' }
  /** The log may be cut above what the job needs: the reservation ran out, and the guard went on. */
  | { readonly kind: 'refused'; readonly need: Need; readonly mark: Offset };

export interface FloorKeeper {
  reserve(holder: string, need: Need): Promise<Reserved>;
  confirm(holder: string, needs: readonly Need[]): Promise<Confirmed>;
  /** For a job that was accepted: puts back what is missing, whatever was given up meanwhile. */
  restore(holder: string, needs: readonly Need[]): Promise<void>;
  /**
   * To min(what a restore would yield from acknowledged checkpoints, what the store shows): the caller reads them in this
   * order, and this is written after. A floor from the store alone would be ahead of what a lost store comes back with.
   * A place that is incomplete is not filled here: nothing is cut there, and a round over all jobs must not wait for it.
   */
  raise(
    holder: string,
    floors: { readonly acknowledged: Need; readonly stored: Offset },
  ): Promise<{ readonly kind: 'raised' } | PlaceIncomplete>;
  drop(holder: string, places: readonly FloorPlace[]): Promise<void>;
  /**
   * Of one that is over and was dropped before. Whoever was replaced knows an older end of a name that is used again since, so
   * this takes a proof.
   */
  dropLeft(holder: string, place: FloorPlace): Promise<void>;
  /** Fills those that are incomplete; returns how many there were. */
  fill(places: readonly FloorPlace[]): Promise<number>;
  /** The same for a caller that comes again; undefined when the marks cannot be read now. */
  tryFill(places: readonly FloorPlace[]): Promise<number | undefined>;
}

export function createFloorKeeper(parts: FloorKeeperParts): FloorKeeper {
  return new Keeper(parts);
}

class Keeper implements FloorKeeper {
  readonly #parts: FloorKeeperParts;
  /** By place and holder, what the store was seen to hold, so that a round over all jobs asks it only for what moved. */
  readonly #known = new Map<string, Map<string, Offset>>();

  constructor(parts: FloorKeeperParts) {
    this.#parts = parts;
  }

  async reserve(holder: string, { place, offset }: Need): Promise<Reserved> {
    const request = { place, holder, offset, ttlMs: RESERVATION_TTL_MS };
    const answer = await this.#whenComplete(place, () => this.#parts.store.reserve(request));
    return answer.kind === 'reserved' ? { kind: 'reserved' } : answer;
  }

  async confirm(holder: string, needs: readonly Need[]): Promise<Confirmed> {
    // Whoever was replaced might put back the floor of a job that has ended since, and nobody would drop it again.
    await this.#parts.prove();
    for (const need of needs) {
      const answer = await this.#confirm(holder, need, false);
      if (answer.kind === 'below mark') return { kind: 'refused', need, mark: answer.mark };
    }
    return { kind: 'confirmed' };
  }

  async restore(holder: string, needs: readonly Need[]): Promise<void> {
    await this.#parts.prove();
    for (const need of needs) await this.#confirm(holder, need, true);
  }

  async raise(
    holder: string,
    { acknowledged, stored }: { readonly acknowledged: Need; readonly stored: Offset },
  ): Promise<{ readonly kind: 'raised' } | PlaceIncomplete> {
    const { place } = acknowledged;
    const to = offsetMin(acknowledged.offset, stored);
    const known = this.#known.get(placeKey(place))?.get(holder);
    if (known !== undefined && to <= known) return { kind: 'raised' };
    const answer = await this.#parts.store.raise({ place, holder, to });
    if (answer.kind === 'incomplete') return answer;
    if (answer.kind === 'raised') {
      this.#remember(holder, place, answer.floor);
      return { kind: 'raised' };
    }
    // Somebody removed it. The guard saw that it is missing and cut nothing, so it can be had again.
    await this.restore(holder, [{ place, offset: to }]);
    return { kind: 'raised' };
  }

  async drop(holder: string, places: readonly FloorPlace[]): Promise<void> {
    for (const place of places) {
      // Of a place that is incomplete nothing is left: it is filled from jobs that have not ended.
      await this.#parts.store.drop({ place, holder });
      this.#known.get(placeKey(place))?.delete(holder);
    }
  }

  async dropLeft(holder: string, place: FloorPlace): Promise<void> {
    // From before the look at this floor no proof tells anything: whoever came since may have put it there for a later series.
    await this.#parts.prove(0);
    await this.drop(holder, [place]);
  }

  fill(places: readonly FloorPlace[]): Promise<number> {
    return this.#fill(places, () => this.#parts.loadMarks());
  }

  async tryFill(places: readonly FloorPlace[]): Promise<number | undefined> {
    let isHeldBack = false;
    try {
      return await this.#fill(places, async () => {
        try {
          return await this.#parts.loadMarks({ openTransactionWaitMs: MARKS_WAIT_MS });
        } catch (error) {
          isHeldBack = error instanceof TidemarkError && error.class === ErrorClass.unavailable;
          throw error;
        }
      });
    } catch (error) {
      if (isHeldBack) return undefined;
      throw error;
    }
  }

  async #fill(places: readonly FloorPlace[], loadMarks: FloorKeeperParts['loadMarks']): Promise<number> {
    const { store, readFloors, prove, newLife } = this.#parts;
    let open = places;
    let filled = 0;
    for (let attempt = 0; attempt < PLACE_ATTEMPTS_MAX && open.length > 0; attempt++) {
      const answer = await fillPlaces(store, {
        places: open,
        life: newLife(),
        readMarks: async () => {
          // Somebody else filled meanwhile: only a proof from after that tells which of us is the younger one.
          await (attempt === 0 ? prove() : prove(0));
          const marks = await loadMarks();
          return (place) => markOf(marks, place);
        },
        readFloors,
      });
      filled += answer.filled.length;
      for (const place of answer.filled) this.#known.delete(placeKey(place));
      open = answer.superseded;
    }
    if (open.length > 0) throw placesUnsteady(open);
    return filled;
  }

  async #confirm(holder: string, { place, offset }: Need, wasConfirmed: boolean) {
    const request = { place, holder, offset, wasConfirmed };
    const answer = await this.#whenComplete(place, () => this.#parts.store.confirm(request));
    if (answer.kind === 'confirmed') this.#remember(holder, place, answer.floor);
    return answer;
  }

  #remember(holder: string, place: FloorPlace, floor: Offset): void {
    const key = placeKey(place);
    const floors = this.#known.get(key) ?? new Map<string, Offset>();
    this.#known.set(key, floors.set(holder, floor));
  }

  async #whenComplete<Answer extends { readonly kind: string }>(
    place: FloorPlace,
    ask: () => Promise<Answer>,
  ): Promise<Exclude<Answer, { kind: 'incomplete' }>> {
    for (let attempt = 0; attempt < PLACE_ATTEMPTS_MAX; attempt++) {
      const answer = await ask();
      if (isComplete(answer)) return answer;
      await this.fill([place]);
    }
    throw placesUnsteady([place]);
  }
}

function isComplete<Answer extends { readonly kind: string }>(
  answer: Answer,
): answer is Exclude<Answer, { kind: 'incomplete' }> {
  return answer.kind !== 'incomplete';
}

/** Another session begins with a look at everything. */
function placesUnsteady(places: readonly FloorPlace[]): TidemarkError {
  const [first] = places;
  return new TidemarkError({
    code: 'FLOORS_UNSTEADY',
    class: ErrorClass.transient,
    message: `the floors of ${places.length} partitions (first ${first === undefined ? '' : `${first.topic}/${first.partition}`}) were lost ${PLACE_ATTEMPTS_MAX} times while they were filled in`,
  });
}
