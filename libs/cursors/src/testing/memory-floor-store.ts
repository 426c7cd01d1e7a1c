/** Floors and marks as a value in memory: the same rules (`floor-rules.ts`), the same order of verdicts, no client. */
import { toOffset } from '@tidemark/keyspace';
import { checkReservationTtl } from '../calls.ts';
import type { FloorPlace, FloorStore, PlaceIncomplete } from '../floor-ports.ts';
import {
  decideConfirm,
  decideDrop,
  decidePropose,
  decideRaise,
  decideReserve,
  type FloorDecision,
  type OpenPlace,
} from '../floor-rules.ts';
import { checkHolder, floorKey } from '../keys.ts';

const NOTHING = toOffset(0n);

export interface MemoryFloorStore extends FloorStore {
  /** As keys that somebody removed: the store goes on, what was in it is gone. */
  loseEverything(): void;
  /** As a restart that kept the data: another life of the store. */
  restart(): void;
  /** As a dump: calling the answer is a restart from it. */
  save(): () => void;
}

interface StoredPlace extends OpenPlace {
  /** Empty while it is withheld. */
  readonly incarnation: string;
}

export function createMemoryFloorStore(options: { readonly now: () => number }): MemoryFloorStore {
  const { now } = options;
  let places = new Map<string, StoredPlace>();
  let lives = 1;
  const incarnation = (): string => `memory-${lives}`;
  const keyOf = (place: FloorPlace): string => floorKey('memory', place);
  const complete = (place: FloorPlace): StoredPlace | undefined => {
    const stored = places.get(keyOf(place));
    return stored?.incarnation === incarnation() ? stored : undefined;
  };
  const onPlace = <Answer>(
    place: FloorPlace,
    rule: (open: OpenPlace) => FloorDecision<Answer>,
  ): Answer | PlaceIncomplete => {
    const stored = complete(place);
    if (stored === undefined) return { kind: 'incomplete' };
    const { answer, next } = rule(stored);
    if (next !== undefined) places.set(keyOf(place), { ...stored, ...next });
    return answer;
  };

  return {
    async reserve(request) {
      checkHolder(request.holder);
      checkReservationTtl(request.ttlMs);
      return onPlace(request.place, (open) => decideReserve(open, { ...request, nowMs: now() }));
    },
    async confirm(request) {
      checkHolder(request.holder);
      return onPlace(request.place, (open) => decideConfirm(open, request));
    },
    async raise(request) {
      checkHolder(request.holder);
      return onPlace(request.place, (open) => decideRaise(open, request));
    },
    async drop(request) {
      checkHolder(request.holder);
      return onPlace(request.place, (open) => decideDrop(open, request));
    },

    async propose(request) {
      const { place, life } = request;
      if (complete(place)?.life !== life) return { kind: 'incomplete' };
      return onPlace(place, (open) => decidePropose(open, { ...request, nowMs: now() }));
    },
    async holdsMark({ place, life, mark }) {
      const stored = complete(place);
      return stored !== undefined && stored.life === life && stored.mark >= mark;
    },

    async withhold({ place, life }) {
      if (complete(place) !== undefined) return { kind: 'complete' };
      places.set(keyOf(place), { life, incarnation: '', mark: NOTHING, floors: new Map() });
      return { kind: 'withheld' };
    },
    async install(request) {
      for (const { holder } of request.floors) checkHolder(holder);
      const key = keyOf(request.place);
      const stored = places.get(key);
      if (stored?.life !== request.life || request.incarnation !== incarnation()) return { kind: 'superseded' };
      if (stored.incarnation === incarnation()) return { kind: 'installed' };
      if (stored.incarnation !== '') return { kind: 'superseded' };
      const floors = request.floors.map(
        ({ holder, offset }) => [holder, { holder, offset, reservedUntilMs: undefined }] as const,
      );
      places.set(key, { ...stored, mark: request.mark, floors: new Map(floors), incarnation: incarnation() });
      return { kind: 'installed' };
    },

    async look(place) {
      const stored = complete(place);
      if (stored === undefined) return undefined;
      const floors = [...stored.floors.values()].sort((a, b) => (a.holder < b.holder ? -1 : 1));
      return { life: stored.life, mark: stored.mark, floors };
    },
    incarnation: async () => incarnation(),
    close: async () => undefined,

    loseEverything() {
      places = new Map();
    },
    restart() {
      lives += 1;
    },
    save() {
      const dump = new Map(places);
      return () => {
        places = new Map(dump);
        lives += 1;
      };
    },
  };
}
