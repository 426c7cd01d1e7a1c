/** The guard as a program: settings, connections, cycles. */
import { hostname } from 'node:os';
import { createCodec } from '@tidemark/contracts/registry';
import { createRedisFloorStore, createRedisSchedule } from '@tidemark/cursors/redis';
import { createJobLog, createMarkLog } from '@tidemark/jobs/kafka';
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
import { guardSettings, readConfig } from './config.ts';
import { runCycle } from './cycle.ts';
import { type Guard, startGuard } from './guard.ts';
import { printReport } from './print-report.ts';

await runProgram({ name: 'guard', start });

async function start(): Promise<Running> {
  const config = readConfig(process.env);
  const logger = createLogger({ program: 'guard', level: config.TIDEMARK_LOG_LEVEL });
  reportConfig({ logger, config, settings: guardSettings, env: process.env });
  const { keep, closeAll } = createOpened();

  try {
    const metricSet = createMetricSet({ program: 'guard', withProcess: true });
    const namespace = config.TIDEMARK_NAMESPACE;
    const cluster = keep(createKafkaCluster({ brokers: config.TIDEMARK_KAFKA, clientId: 'tidemark-guard', logger }));
    const log = { cluster, codec: createCodec({ registryUrl: config.TIDEMARK_REGISTRY }), namespace };
    const parts = {
      cluster,
      floors: keep(await createRedisFloorStore({ url: config.TIDEMARK_REDIS, namespace })),
      marks: createMarkLog(log),
      jobs: keep(createJobLog(log)),
      policies: config.TIDEMARK_GUARD_TOPICS,
      groups: config.TIDEMARK_GUARD_GROUPS,
      holds: config.TIDEMARK_GUARD_HOLD,
      repairs: config.TIDEMARK_GUARD_REPAIR,
      name: `${hostname()}/${process.pid}`,
      nowMs: Date.now,
    };
    const replicationFactor = config.TIDEMARK_REPLICATION_FACTOR;
    if (config.TIDEMARK_GUARD_ONCE) {
      await parts.marks.ensure(replicationFactor);
      const exitCode = printReport(await runCycle(parts), process.stdout);
      return { logger, ended: closeAll(), exitCode, stop: closeAll };
    }
    const everyMs = config.TIDEMARK_GUARD_EVERY_MS;
    const schedule = keep(await createRedisSchedule({ url: config.TIDEMARK_REDIS, namespace }));
    const guard = await startGuard({
      ...parts,
      schedule,
      everyMs,
      replicationFactor,
      logger,
      metrics: metricSet.metrics,
    });
    const health = { port: config.TIDEMARK_METRICS_PORT, host: config.TIDEMARK_METRICS_HOST };
    keep(await startHealthListener({ ...health, metricSet, readiness: () => readinessOf(guard) }));
    return {
      logger,
      ended: guard.ended,
      stop: async (reason) => {
        await guard.stop(reason);
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

function readinessOf({ lastReport, lastFault }: Guard) {
  if (lastReport !== undefined) return { kind: 'ready' } as const;
  return { kind: 'not ready', reasons: [lastFault ?? 'no cycle of the guard has ended yet'] } as const;
}
