/** The real services of one test, in a namespace of its own, and workers upon them. For tests only. */
import { createCodec } from '@tidemark/contracts/registry';
import { createRedisCursorStore, createRedisSchedule } from '@tidemark/cursors/redis';
import type { Handler } from '@tidemark/handlers';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { environmentOf, type SpawnedProgram, services, spawnProgram, uniqueNamespace } from '@tidemark/testkit';
import { onTestFinished } from 'vitest';
import { startWorker, type Worker, type WorkerOptions } from '../worker.ts';
import { type InstalledJob, type InstallOptions, installJob } from './install-job.ts';

type Parts = Pick<WorkerOptions, 'cluster' | 'codec' | 'store' | 'schedule'>;

export interface RealBench extends Parts {
  readonly namespace: string;
  install(options: Omit<InstallOptions, 'catalog' | 'store' | 'schedule'>): Promise<InstalledJob>;
  /** Stopped when the test is over at the latest. */
  work(handlers: readonly Handler[], options?: Partial<WorkerOptions>): Promise<Worker>;
  /** A worker as a process of its own, with the handlers of `fixtures/sink-handlers.ts`; killed when the test is over at the latest. */
  spawn(env?: Readonly<Record<string, string>>): SpawnedProgram;
}

/** No machine is so busy that a living worker loses it; a test that is about its end names another. */
const LEASE_TTL_MS = 240_000;

const SINKS = 'services/worker/src/testing/fixtures/sink-handlers.ts';

/** Workers are stopped and connections closed when the test is over. */
export async function realBench(): Promise<RealBench> {
  const { kafka, redis, registry } = services();
  const namespace = uniqueNamespace('worker');
  const cluster = createKafkaCluster({ brokers: [kafka], clientId: namespace });
  const store = await createRedisCursorStore({ url: redis, namespace });
  const schedule = await createRedisSchedule({ url: redis, namespace });
  const parts: Parts = { cluster, codec: createCodec({ registryUrl: registry }), store, schedule };
  const workers: Worker[] = [];
  onTestFinished(async () => {
    await Promise.all(workers.map((worker) => worker.stop('test over')));
    await Promise.all([store.close(), schedule.close(), cluster.close()]);
  });
  return {
    ...parts,
    namespace,
    install: (options) => installJob({ ...options, catalog: cluster.catalog, store, schedule }),
    async work(handlers, options = {}) {
      const worker = await startWorker({ ...parts, handlers, pollMs: 100, leaseTtlMs: LEASE_TTL_MS, ...options });
      workers.push(worker);
      return worker;
    },
    spawn(more = {}) {
      const own = {
        TIDEMARK_HANDLERS: SINKS,
        TIDEMARK_LOG_LEVEL: 'debug',
        TIDEMARK_LEASE_TTL_MS: String(LEASE_TTL_MS),
      };
      const env = { ...environmentOf(namespace), ...own, ...more };
      const worker = spawnProgram({ script: 'services/worker/src/main.ts', env });
      onTestFinished(() => worker.kill('SIGKILL'));
      return worker;
    },
  };
}
