/** The outbox of a busy database carried to Kafka: two relays of one name, on a Postgres and a broker that are killed. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { chanceOf } from '@tidemark/testkit/chance';
import { saveLogs } from '../fleet.ts';
import { faultOf } from '../schedule.ts';
import type { RunningSystem, SystemUnderTest } from '../system.ts';
import { INJECTIONS } from './inject.ts';
import { install } from './installation.ts';
import { judgeRelay } from './judge.ts';
import { RELAY_FAULTS } from './kinds.ts';

export const relay: SystemUnderTest = {
  name: 'relay',
  kinds: RELAY_FAULTS,
  async start(options): Promise<RunningSystem> {
    const { scene, close } = await install(options);
    return {
      failed: Promise.race([scene.load.failed, scene.tail.failed]),
      inject: ({ kind, seed }) => INJECTIONS[faultOf(RELAY_FAULTS, kind)](scene, chanceOf(seed)),
      judge: (faults) => judgeRelay(scene, { faults, registry: options.registry }),
      async saveLogs(folder) {
        saveLogs(scene.fleet, folder);
        copyFileSync(join(scene.postgres.folder, 'server', 'server.log'), join(folder, 'postgres.log'));
        copyFileSync(join(scene.broker.folder, 'kafka.log'), join(folder, 'kafka.log'));
      },
      close,
    };
  },
};
