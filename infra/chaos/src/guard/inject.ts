import { emptyRedis, killBroker, killDistributor, olderRedis, restartRedis } from '../traversal/faults/services.ts';
import { killWorker } from '../traversal/faults/workers.ts';
import { addPartition, breakFloor, killGuard, raceCut, stopGuard } from './faults.ts';
import type { GuardFault } from './kinds.ts';
import type { GuardInject } from './scene.ts';

export const INJECTIONS: Readonly<Record<GuardFault, GuardInject>> = {
  worker_killed: killWorker,
  distributor_killed: killDistributor,
  redis_restarted: restartRedis,
  redis_emptied: emptyRedis,
  redis_older: olderRedis,
  broker_killed: killBroker,
  guard_killed: killGuard,
  guard_stopped: stopGuard,
  partitions_added: addPartition,
  request_races_cut: raceCut,
  floor_broken: breakFloor,
};
