/** The random-interleaving checker of P9; what it does and proves is told in the room's README. */

export { checkInterleaving, type InterleavingRun } from './check.ts';
export type { Delivered, Delivery, Scene } from './delivery.ts';
export { PLANTS, type Plant } from './plants.ts';
export { topicsOf } from './stage.ts';
export { type DeliveredRow, describeFaults, type Fault, judge, type StandingRow, type TrueRow } from './verdict.ts';
