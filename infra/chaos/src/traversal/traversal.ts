/** Jobs over topics that are being filled: distributors, workers and the guard, on a broker and a Redis that are killed. */
import { chanceOf } from '@tidemark/testkit/chance';
import { saveLogs } from '../fleet.ts';
import { faultOf } from '../schedule.ts';
import type { RunningSystem, SystemUnderTest } from '../system.ts';
import { INJECTIONS } from './inject.ts';
import { install } from './installation.ts';
import { judgeTraversal } from './judge.ts';
import { TRAVERSAL_FAULTS } from './kinds.ts';

export const traversal: SystemUnderTest = {
  name: 'traversal',
  kinds: TRAVERSAL_FAULTS,
  async start(options): Promise<RunningSystem> {
    const { scene, close } = await install(options);
    return {
      failed: scene.streams.failed,
      inject: ({ kind, seed }) => INJECTIONS[faultOf(TRAVERSAL_FAULTS, kind)](scene, chanceOf(seed)),
      judge: (faults) => judgeTraversal(scene, faults),
      saveLogs: async (folder) => saveLogs(scene.fleet, folder),
      close,
    };
  },
};
