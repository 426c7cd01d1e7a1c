export {
  type Distributor,
  type DistributorOptions,
  type DistributorPhase,
  startDistributor,
} from './src/distributor.ts';
/** The parts of the pin and of the floors that another service's tests race against. */
export { lookAfterFloors } from './src/floor-check.ts';
export { createFloorKeeper, type FloorKeeper, type FloorKeeperParts } from './src/floor-keeper.ts';
export { coveredBy, type Need, needsOf, type Settled, wholeOf } from './src/needs.ts';
export { type PinAnswer, pinWindow } from './src/pin.ts';
export type { OnStep, Step } from './src/steps.ts';
