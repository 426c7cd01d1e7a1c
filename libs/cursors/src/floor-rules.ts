/**
 * The rules of a place, as pure decisions: `(place, what is asked, now) -> answer, and the next place if it changes`. The
 * in-memory twin runs them; the Lua scripts say the same, and a property test holds the two together.
 *
 *   (incomplete) ──withhold──▶ withheld ──install──▶ complete ──▶ reserve, confirm, raise, drop, propose
 *        ▲                                              │
 *        └───────── lost, or another life of the store ─┘
 */
import { type Offset, offsetMax, offsetMin } from '@tidemark/keyspace';
import type {
  BelowMark,
  ConfirmAnswer,
  Floor,
  PlaceIncomplete,
  ProposeAnswer,
  RaiseAnswer,
  ReserveAnswer,
} from './floor-ports.ts';

/** A place that is complete. */
export interface OpenPlace {
  readonly life: string;
  readonly mark: Offset;
  readonly floors: ReadonlyMap<string, Floor>;
}

export interface FloorDecision<Answer> {
  readonly answer: Answer;
  /** Left out when nothing changes. */
  readonly next?: OpenPlace;
}

type Answered<Answer> = Exclude<Answer, PlaceIncomplete>;

export function decideReserve(
  place: OpenPlace,
  request: { readonly holder: string; readonly offset: Offset; readonly ttlMs: number; readonly nowMs: number },
): FloorDecision<Answered<ReserveAnswer>> {
  const { holder } = request;
  const held = place.floors.get(holder);
  const isLower = held === undefined || request.offset < held.offset;
  if (isLower && request.offset < place.mark) return below(place);
  const stays = held !== undefined && held.reservedUntilMs === undefined;
  const floor: Floor = {
    holder,
    offset: isLower ? request.offset : held.offset,
    reservedUntilMs: stays ? undefined : request.nowMs + request.ttlMs,
  };
  return { answer: { kind: 'reserved', floor: floor.offset }, next: withFloor(place, floor) };
}

export function decideConfirm(
  place: OpenPlace,
  request: { readonly holder: string; readonly offset: Offset; readonly wasConfirmed: boolean },
): FloorDecision<Answered<ConfirmAnswer>> {
  const { holder } = request;
  const held = place.floors.get(holder);
  const isLower = held === undefined || request.offset < held.offset;
  if (isLower && request.offset < place.mark && !request.wasConfirmed) return below(place);
  const offset = isLower ? request.offset : held.offset;
  const floor: Floor = { holder, offset, reservedUntilMs: undefined };
  return { answer: { kind: 'confirmed', floor: offset }, next: withFloor(place, floor) };
}

export function decideRaise(
  place: OpenPlace,
  request: { readonly holder: string; readonly to: Offset },
): FloorDecision<Answered<RaiseAnswer>> {
  const held = place.floors.get(request.holder);
  if (held === undefined) return { answer: { kind: 'unknown holder' } };
  const offset = offsetMax(held.offset, request.to);
  return { answer: { kind: 'raised', floor: offset }, next: withFloor(place, { ...held, offset }) };
}

export function decideDrop(
  place: OpenPlace,
  request: { readonly holder: string },
): FloorDecision<{ readonly kind: 'dropped' }> {
  const floors = new Map(place.floors);
  floors.delete(request.holder);
  return { answer: { kind: 'dropped' }, next: { ...place, floors } };
}

/**
 * Passing a reservation that ran out and removing it are one step: its holder finds it gone and asks the mark again. The
 * reservation of a job that is durable (`required`) holds, however long its confirmation takes.
 */
export function decidePropose(
  place: OpenPlace,
  request: { readonly target: Offset; readonly required: readonly string[]; readonly nowMs: number },
): FloorDecision<Answered<ProposeAnswer>> {
  const missing = request.required.filter((holder) => !place.floors.has(holder));
  if (missing.length > 0) return { answer: { kind: 'missing', holders: missing } };
  const required = new Set(request.required);
  const holding = [...place.floors.values()].filter(
    ({ holder, reservedUntilMs }) =>
      required.has(holder) || reservedUntilMs === undefined || reservedUntilMs >= request.nowMs,
  );
  const floors = new Map(holding.map((floor) => [floor.holder, floor]));
  const [first, ...others] = holding.map(({ offset }) => offset);
  const lowest = first === undefined ? undefined : others.reduce(offsetMin, first);
  if (lowest !== undefined && lowest < place.mark)
    return { answer: { kind: 'held', floor: lowest }, next: { ...place, floors } };
  const mark = offsetMax(place.mark, offsetMin(lowest ?? request.target, request.target));
  return { answer: { kind: 'proposed', mark }, next: { ...place, mark, floors } };
}

function withFloor(place: OpenPlace, floor: Floor): OpenPlace {
  return { ...place, floors: new Map(place.floors).set(floor.holder, floor) };
}

function below(place: OpenPlace): FloorDecision<BelowMark> {
  return { answer: { kind: 'below mark', mark: place.mark } };
}
