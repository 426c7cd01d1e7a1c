/** The distributor as a program: settings, connections, one shard of jobs. */
import { createCodec } from '@tidemark/contracts/registry';
import {
  createRedisCursorStore,
  createRedisFloorStore,
  createRedisLeadership,
  createRedisSchedule,
} from '@tidemark/cursors/redis';
import { createKafkaCluster } from '@tidemark/log/kafka';
import {
  createLogger,
  createMetricSet,
  createOpened,
  type Running,
  reportConfig,
  runProgram,
  startHealthListener,
} from '@tidemark/observability';
import { distributorSettings, readConfig } from './config.ts';
import { type Distributor, startDistributor } from './distributor.ts';

await runProgram({ name: 'distributor', start });

async function start(signal: AbortSignal): Promise<Running> {
  const config = readConfig(process.env);
  const logger = createLogger({ program: 'distributor', level: config.TIDEMARK_LOG_LEVEL });
  reportConfig({ logger, config, settings: distributorSettings, env: process.env });
  const { keep, closeAll } = createOpened();

  try {
    const metricSet = createMetricSet({ program: 'distributor', withProcess: true });
    const redis = { url: config.TIDEMARK_REDIS, namespace: config.TIDEMARK_NAMESPACE };
    const cluster = keep(
      createKafkaCluster({ brokers: config.TIDEMARK_KAFKA, clientId: 'tidemark-distributor', logger }),
    );
    const distributor = await startDistributor(
      {
        cluster,
        codec: createCodec({ registryUrl: config.TIDEMARK_REGISTRY }),
        store: keep(await createRedisCursorStore(redis)),
        schedule: keep(await createRedisSchedule(redis)),
        floors: keep(await createRedisFloorStore(redis)),
        leadership: keep(await createRedisLeadership(redis)),
        leadershipTtlMs: config.TIDEMARK_LEADERSHIP_TTL_MS,
        namespace: config.TIDEMARK_NAMESPACE,
        logger,
        metrics: metricSet.metrics,
        replicationFactor: config.TIDEMARK_REPLICATION_FACTOR,
        checkpointEveryMs: config.TIDEMARK_CHECKPOINT_EVERY_MS,
        openTransactionDeadlineMs: config.TIDEMARK_OPEN_TRANSACTION_DEADLINE_MS,
        breakerDeadlineMs: config.TIDEMARK_BREAKER_DEADLINE_MS,
        keeping: { endedMs: config.TIDEMARK_ENDED_JOBS_KEPT_MS, runs: config.TIDEMARK_ENDED_RUNS_KEPT },
      },
      signal,
    );
    const health = { port: config.TIDEMARK_METRICS_PORT, host: config.TIDEMARK_METRICS_HOST };
    keep(await startHealthListener({ ...health, metricSet, readiness: () => readinessOf(distributor) }));
    return {
      logger,
      ended: distributor.ended,
      stop: async (reason) => {
        await distributor.stop(reason);
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

function readinessOf({ phase }: Distributor) {
  // A standby is as ready as it can be: it works as soon as the other one does not.
  if (phase === 'running' || phase === 'standby') return { kind: 'ready' } as const;
  return { kind: 'not ready', reasons: [`the distributor is ${phase}`] } as const;
}
