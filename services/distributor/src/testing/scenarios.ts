/** What a distributor must do, run on the in-memory parts and on the real services alike. */
import { afterEach, beforeEach } from 'vitest';
import { auditHoldScenarios } from './audit-hold-scenarios.ts';
import { caseScenarios } from './case-scenarios.ts';
import { endingScenarios } from './ending-scenarios.ts';
import { floorScenarios } from './floor-scenarios.ts';
import { type ManyOptions, manyScenarios } from './many-scenarios.ts';
import { parkedScenarios } from './parked-scenarios.ts';
import { pinScenarios } from './pin-scenarios.ts';
import { removalScenarios } from './removal-scenarios.ts';
import { replicaScenarios } from './replica-scenarios.ts';
import { requestScenarios } from './request-scenarios.ts';
import { Rig, type RigParts } from './rig.ts';
import { seriesScenarios } from './series-scenarios.ts';
import { splitScenarios } from './split-scenarios.ts';
import { steeredSuccessionScenarios } from './steered-succession-scenarios.ts';
import { steeringScenarios } from './steering-scenarios.ts';
import { successionScenarios } from './succession-scenarios.ts';

export function distributorScenarios(where: string, makeParts: () => Promise<RigParts>, many: ManyOptions): void {
  let rig: Rig | undefined;
  beforeEach(async () => {
    rig = new Rig(await makeParts());
  });
  afterEach(() => rig?.close());
  const rigOf = (): Rig => {
    if (rig === undefined) throw new Error('there is a rig only while a test runs');
    return rig;
  };
  pinScenarios(where, rigOf);
  floorScenarios(where, rigOf);
  auditHoldScenarios(where, rigOf);
  requestScenarios(where, rigOf);
  successionScenarios(where, rigOf);
  steeredSuccessionScenarios(where, rigOf);
  endingScenarios(where, rigOf);
  steeringScenarios(where, rigOf);
  parkedScenarios(where, rigOf);
  splitScenarios(where, rigOf);
  replicaScenarios(where, rigOf);
  seriesScenarios(where, rigOf);
  removalScenarios(where, rigOf);
  caseScenarios(where, rigOf);
  manyScenarios(where, rigOf, many);
}
