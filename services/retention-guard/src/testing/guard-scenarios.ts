/** What a guard must do, run on the in-memory parts and on the real services alike. */
import { afterEach, beforeEach } from 'vitest';
import { arrivalScenarios } from './arrival-scenarios.ts';
import { cutScenarios } from './cut-scenarios.ts';
import { GuardRig, type GuardRigParts } from './guard-rig.ts';
import { holderScenarios } from './holder-scenarios.ts';
import { topicScenarios } from './topic-scenarios.ts';

export function guardScenarios(where: string, makeParts: () => Promise<GuardRigParts>): void {
  let rig: GuardRig | undefined;
  beforeEach(async () => {
    rig = new GuardRig(await makeParts());
  });
  afterEach(async () => {
    await rig?.close();
    rig = undefined;
  });
  const rigOf = (): GuardRig => {
    if (rig === undefined) throw new Error('there is a rig only while a test runs');
    return rig;
  };
  cutScenarios(where, rigOf);
  holderScenarios(where, rigOf);
  topicScenarios(where, rigOf);
  arrivalScenarios(where, rigOf);
}
