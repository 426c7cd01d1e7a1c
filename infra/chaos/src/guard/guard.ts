/** A log that two guards cut while jobs, a series and a consumer group need it: nothing that is needed may go. */
import { chanceOf } from '@tidemark/testkit/chance';
import { saveLogs } from '../fleet.ts';
import { faultOf } from '../schedule.ts';
import type { RunningSystem, SystemUnderTest } from '../system.ts';
import { INJECTIONS } from './inject.ts';
import { install } from './installation.ts';
import { judgeGuard } from './judge.ts';
import { GUARD_FAULTS } from './kinds.ts';

export const guard: SystemUnderTest = {
  name: 'guard',
  kinds: GUARD_FAULTS,
  async start(options): Promise<RunningSystem> {
    const { scene, close } = await install(options);
    return {
      failed: Promise.race([scene.streams.failed, scene.load.failed, scene.sampler.failed]),
      inject: ({ kind, seed }) => INJECTIONS[faultOf(GUARD_FAULTS, kind)](scene, chanceOf(seed)),
      judge: (faults) => judgeGuard(scene, { faults, chance: chanceOf(options.seed) }),
      saveLogs: async (folder) => saveLogs(scene.fleet, folder),
      close,
    };
  },
};
