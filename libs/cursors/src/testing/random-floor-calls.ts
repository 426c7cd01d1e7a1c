/** Random histories of one place, as plain data, and their interpreter: the same history can be played on any store of floors. */
import { toOffset } from '@tidemark/keyspace';
import fc from 'fast-check';
import type { FloorPlace, FloorStore } from '../floor-ports.ts';
import { FOR_LONG_MS } from './sample-jobs.ts';

/** Small, around the end of exact doubles, and near the end of int64. */
const BASES = [0n, 2n ** 53n - 4n, 2n ** 63n - 20n];
const LIVES = ['one', 'two'];

export type FloorStep =
  | { readonly kind: 'reserve'; readonly holder: string; readonly at: bigint; readonly ttlMs: number }
  | { readonly kind: 'confirm'; readonly holder: string; readonly at: bigint; readonly wasConfirmed: boolean }
  | { readonly kind: 'raise'; readonly holder: string; readonly at: bigint }
  | { readonly kind: 'drop'; readonly holder: string }
  | {
      readonly kind: 'propose';
      readonly life: string;
      readonly at: bigint;
      readonly required: readonly string[];
    }
  | { readonly kind: 'holdsMark'; readonly life: string; readonly at: bigint }
  | { readonly kind: 'withhold'; readonly life: string }
  | { readonly kind: 'install'; readonly life: string; readonly at: bigint; readonly floors: readonly bigint[] }
  /** Somebody deletes the place. */
  | { readonly kind: 'lose' };

export interface FloorHistory {
  readonly base: bigint;
  readonly steps: readonly FloorStep[];
}

const HOLDERS = ['a', 'b', 'c'] as const;
const holder = fc.constantFrom(...HOLDERS);
const at = fc.bigInt(0n, 9n);
const wasConfirmed = fc.constantFrom(false, false, false, true);
const life = fc.constantFrom('one', 'one', 'one', 'two');
/** Long ago or far ahead: a test cannot hit the very millisecond on two clocks. */
const ttlMs = fc.constantFrom(0, FOR_LONG_MS, FOR_LONG_MS);

const step: fc.Arbitrary<FloorStep> = fc.oneof(
  { weight: 20, arbitrary: fc.record({ kind: fc.constant('reserve'), holder, at, ttlMs }) },
  { weight: 16, arbitrary: fc.record({ kind: fc.constant('confirm'), holder, at, wasConfirmed }) },
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('raise'), holder, at }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('drop'), holder }) },
  {
    weight: 20,
    arbitrary: fc.record({
      kind: fc.constant('propose'),
      life,
      at,
      required: fc.oneof(fc.constant([]), fc.constant([]), fc.subarray([...HOLDERS])),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('holdsMark'), life, at }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('withhold'), life }) },
  {
    weight: 10,
    arbitrary: fc.record({ kind: fc.constant('install'), life, at, floors: fc.array(at, { maxLength: 3 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('lose') }) },
);

export const floorHistory: fc.Arbitrary<FloorHistory> = fc.record({
  base: fc.constantFrom(...BASES),
  steps: fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }),
});

export function playFloorStep(
  store: FloorStore,
  on: { readonly place: FloorPlace; readonly base: bigint; readonly lose: () => Promise<void> },
  now: FloorStep,
): Promise<unknown> {
  const { place, base } = on;
  const offset = (relative: bigint) => toOffset(base + relative);
  switch (now.kind) {
    case 'reserve':
      return store.reserve({ place, holder: now.holder, offset: offset(now.at), ttlMs: now.ttlMs });
    case 'confirm':
      return store.confirm({ place, holder: now.holder, offset: offset(now.at), wasConfirmed: now.wasConfirmed });
    case 'raise':
      return store.raise({ place, holder: now.holder, to: offset(now.at) });
    case 'drop':
      return store.drop({ place, holder: now.holder });
    case 'propose':
      return store.propose({ place, life: now.life, target: offset(now.at), required: now.required });
    case 'holdsMark':
      return store.holdsMark({ place, life: now.life, mark: offset(now.at) });
    case 'withhold':
      return store.withhold({ place, life: now.life });
    case 'install':
      return install(store, place, {
        life: now.life,
        mark: offset(now.at),
        floors: now.floors.map((each, index) => ({ holder: HOLDERS[index] ?? 'a', offset: offset(each) })),
      });
    case 'lose':
      return on.lose();
  }
}

async function install(
  store: FloorStore,
  place: FloorPlace,
  filling: Pick<Parameters<FloorStore['install']>[0], 'life' | 'mark' | 'floors'>,
): Promise<unknown> {
  return store.install({ place, incarnation: await store.incarnation(), ...filling });
}

export const openingSteps: readonly FloorStep[] = [
  { kind: 'withhold', life: LIVES[0] ?? '' },
  { kind: 'install', life: LIVES[0] ?? '', at: 0n, floors: [3n] },
];
