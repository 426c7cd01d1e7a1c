/** Who holds a log, and from where on: pure. */
import type { Floor } from './floor-ports.ts';

export function lowestFloor({ floors }: { readonly floors: readonly Floor[] }): Floor | undefined {
  return floors.reduce<Floor | undefined>(
    (lowest, floor) => (lowest === undefined || floor.offset < lowest.offset ? floor : lowest),
    undefined,
  );
}

/** Without reservations that ran out, the lowest first. Whoever shows floors may guess the store's clock; a cut lets `propose` decide. */
export function holdingFloors({ floors }: { readonly floors: readonly Floor[] }, storeNowMs: number): readonly Floor[] {
  return floors
    .filter(({ reservedUntilMs }) => reservedUntilMs === undefined || reservedUntilMs >= storeNowMs)
    .sort((a, b) => (a.offset === b.offset ? 0 : a.offset < b.offset ? -1 : 1));
}
