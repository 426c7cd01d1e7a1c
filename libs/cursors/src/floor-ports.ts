/**
 * Floors and marks: what keeps the log from being cut under somebody who still needs it. One partition of one incarnation
 * of a topic is a *place*. Every holder (a job) has a *floor* there, the lowest offset that it still needs; the *mark* is the
 * offset below which nothing is promised to anybody any more. A proposal never raises the mark above a floor that holds. Only
 * the floor of a job that was accepted before may be put back below the mark, and then nothing is cut until it has passed it.
 *
 * The store is a fast copy. Jobs and checkpoints (floors) and marks are durable in Kafka; a place that was lost, or that is
 * served by another life of the store, answers `incomplete` until somebody has withheld and installed it again, and until
 * then nobody may cut the log there. The protocol is in the README.
 */
import type { Offset } from '@tidemark/keyspace';

/** A recreated topic has another topic id, so it is another place, without floors and without a mark. */
export interface FloorPlace {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
}

export interface Floor {
  readonly holder: string;
  /** The lowest offset that the holder still needs. */
  readonly offset: Offset;
  /** Store clock; undefined for a floor that stays. A reservation that ran out no longer holds anything. */
  readonly reservedUntilMs: number | undefined;
}

export interface FloorLook {
  /** Which filling of this place it is. */
  readonly life: string;
  readonly mark: Offset;
  /** By holder; reservations that ran out are still listed until a proposal passes them. */
  readonly floors: readonly Floor[];
}

/** The place is not (or no longer) filled, or the store is another incarnation. */
export interface PlaceIncomplete {
  readonly kind: 'incomplete';
}

/** What is asked for may be cut already, or at any moment. */
export interface BelowMark {
  readonly kind: 'below mark';
  readonly mark: Offset;
}

export interface HolderCall {
  readonly place: FloorPlace;
  readonly holder: string;
}

export type ReserveAnswer = { readonly kind: 'reserved'; readonly floor: Offset } | BelowMark | PlaceIncomplete;

export type ConfirmAnswer = { readonly kind: 'confirmed'; readonly floor: Offset } | BelowMark | PlaceIncomplete;

export type RaiseAnswer =
  | { readonly kind: 'raised'; readonly floor: Offset }
  /** The holder has no floor here. */
  | { readonly kind: 'unknown holder' }
  | PlaceIncomplete;

export type ProposeAnswer =
  /** The mark as it is now: at least what it was before, and above no floor. */
  | { readonly kind: 'proposed'; readonly mark: Offset }
  /** A floor is below the mark: the mark is left from a cut that never came to be. Nothing may be cut before it is passed. */
  | { readonly kind: 'held'; readonly floor: Offset }
  /** Holders that must have a floor have none: something was lost that the store does not know of. */
  | { readonly kind: 'missing'; readonly holders: readonly string[] }
  | PlaceIncomplete;

/** Every call may be repeated with the same arguments when its reply was lost. Throws TidemarkError `unavailable`. */
export interface FloorStore {
  /** Registers a floor that runs out after `ttlMs`; a floor that the holder has already is lowered if need be, and stays. */
  reserve(request: HolderCall & { readonly offset: Offset; readonly ttlMs: number }): Promise<ReserveAnswer>;
  /**
   * Makes the floor stay. A reservation that is still there has held all the time, because whoever passes one removes it in
   * the same step; one that is gone is registered anew, if the mark allows. The floor of a holder that `wasConfirmed`
   * before is put back wherever the mark is: only a mark that nobody can cut at any more is above it.
   */
  confirm(request: HolderCall & { readonly offset: Offset; readonly wasConfirmed: boolean }): Promise<ConfirmAnswer>;
  /** Never lowers. */
  raise(request: HolderCall & { readonly to: Offset }): Promise<RaiseAnswer>;
  drop(request: HolderCall): Promise<{ readonly kind: 'dropped' } | PlaceIncomplete>;

  /**
   * Raises the mark to min(all floors, target), in one step with looking at the floors; never lowers it. While a floor is
   * below the mark, there is nothing to propose. `life` is that of a
   * look from before the caller read who must have a floor (`required`): a place that was filled since is refused.
   */
  propose(request: {
    readonly place: FloorPlace;
    readonly life: string;
    readonly target: Offset;
    readonly required: readonly string[];
  }): Promise<ProposeAnswer>;
  /** Asked when the mark is durable: true when this very filling of the place still holds a mark that high. */
  holdsMark(request: { readonly place: FloorPlace; readonly life: string; readonly mark: Offset }): Promise<boolean>;

  /**
   * Begins to fill a place that is incomplete. From here on it stays incomplete until `install` of this life, so the marks
   * that its caller reads from Kafka afterwards hold everything that was ever promised to a guard.
   */
  withhold(request: {
    readonly place: FloorPlace;
    readonly life: string;
  }): Promise<{ readonly kind: 'withheld' } | { readonly kind: 'complete' }>;
  /** Fills a withheld place: floors that stay, the mark, and the incarnation last. `superseded`: withhold it again. */
  install(request: {
    readonly place: FloorPlace;
    readonly life: string;
    /** As asked before the marks were read. */
    readonly incarnation: string;
    readonly mark: Offset;
    readonly floors: readonly Pick<Floor, 'holder' | 'offset'>[];
  }): Promise<{ readonly kind: 'installed' } | { readonly kind: 'superseded' }>;

  /** Undefined while the place is incomplete. */
  look(place: FloorPlace): Promise<FloorLook | undefined>;
  incarnation(): Promise<string>;
  close(): Promise<void>;
}
