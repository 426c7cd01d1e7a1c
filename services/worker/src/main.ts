/** The worker as a program: settings, connections, handlers, slots. */
import './memory.ts';
import { createCodec } from '@tidemark/contracts/registry';
import { createRedisCursorStore, createRedisSchedule } from '@tidemark/cursors/redis';
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
import { builtInHandlers } from './built-in/built-in-handlers.ts';
import { loadWorkerConfig, workerSettings } from './config.ts';
import { loadHandlers } from './handlers/load-handlers.ts';
import { startWorker, type Worker } from './worker.ts';

await runProgram({ name: 'worker', start });

async function start(): Promise<Running> {
  const config = loadWorkerConfig(process.env);
  const logger = createLogger({ program: 'worker', level: config.TIDEMARK_LOG_LEVEL });
  reportConfig({ logger, config, settings: workerSettings, env: process.env });
  const ownHandlers = await loadHandlers(config.TIDEMARK_HANDLERS);
  const { keep, closeAll } = createOpened();
  let worker: Worker | undefined;
  try {
    const metricSet = createMetricSet({ program: 'worker', withProcess: true });
    const redis = { url: config.TIDEMARK_REDIS, namespace: config.TIDEMARK_NAMESPACE };
    const cluster = keep(createKafkaCluster({ brokers: config.TIDEMARK_KAFKA, clientId: 'tidemark-worker', logger }));
    const codec = createCodec({ registryUrl: config.TIDEMARK_REGISTRY });
    const started = await startWorker({
      cluster,
      codec,
      store: keep(await createRedisCursorStore(redis)),
      schedule: keep(await createRedisSchedule(redis)),
      handlers: [...builtInHandlers({ cluster, codec }), ...ownHandlers],
      slots: config.TIDEMARK_SLOTS,
      rangesMax: config.TIDEMARK_RANGES_MAX,
      leaseTtlMs: config.TIDEMARK_LEASE_TTL_MS,
      stopGraceMs: config.TIDEMARK_STOP_GRACE_MS,
      replicationFactor: config.TIDEMARK_REPLICATION_FACTOR,
      deadLetterRetentionMs: config.TIDEMARK_DEAD_LETTER_RETENTION_MS,
      logger,
      metrics: metricSet.metrics,
    });
    worker = started;
    const health = { port: config.TIDEMARK_METRICS_PORT, host: config.TIDEMARK_METRICS_HOST };
    keep(await startHealthListener({ ...health, metricSet, readiness: () => readinessOf(started) }));
    const stop = async (reason: string): Promise<void> => {
      await started.stop(reason);
      await closeAll();
    };
    return { logger, ended: started.ended, stop };
  } catch (error) {
    await worker?.stop('the start failed');
    await closeAll();
    throw error;
  }
}

function readinessOf({ state: { phase } }: Worker) {
  if (phase === 'running') return { kind: 'ready' } as const;
  return { kind: 'not ready', reasons: [`the worker is ${phase}`] } as const;
}
