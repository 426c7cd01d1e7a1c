import { addPartition, deleteRecords, failingHandler, hangingHandler, slowHandler } from './faults/jobs.ts';
import { emptyRedis, killBroker, killDistributor, olderRedis } from './faults/services.ts';
import { killWorker, restartWorkers, stopWorker } from './faults/workers.ts';
import type { TraversalFault } from './kinds.ts';
import type { Inject } from './scene.ts';

export const INJECTIONS: Readonly<Record<TraversalFault, Inject>> = {
  worker_killed: killWorker,
  worker_stopped: stopWorker,
  redis_emptied: emptyRedis,
  redis_older: olderRedis,
  broker_killed: killBroker,
  rolling_restart: restartWorkers,
  records_deleted: deleteRecords,
  distributor_killed: killDistributor,
  partitions_added: addPartition,
  slow_handler: slowHandler,
  failing_handler: failingHandler,
  hanging_handler: hangingHandler,
};
