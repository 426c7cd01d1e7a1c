/** The relay as a program: settings, connections, one relay. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import process from 'node:process';
import { createCodec } from '@tidemark/contracts/registry';
import { createKafkaCluster } from '@tidemark/log/kafka';
import {
  createLogger,
  createMetricSet,
  type Running,
  reportConfig,
  runProgram,
  startHealthListener,
} from '@tidemark/observability';
import { openPostgresOutbox } from '@tidemark/outbox/postgres';
import { loadRelayConfig, relaySettings } from './config.ts';
import { type Relay, RelayState, startRelay } from './relay.ts';

await runProgram({
  name: 'relay',
  async start(): Promise<Running> {
    const config = loadRelayConfig(process.env);
    const logger = createLogger({ program: 'relay', level: config.TIDEMARK_LOG_LEVEL });
    reportConfig({ logger, config, settings: relaySettings, env: process.env });
    const namespace = config.TIDEMARK_NAMESPACE;
    const name = config.TIDEMARK_RELAY_NAME;
    const cluster = createKafkaCluster({ brokers: config.TIDEMARK_KAFKA, clientId: `tidemark-relay-${name}`, logger });
    const outbox = openPostgresOutbox({
      url: config.TIDEMARK_POSTGRES,
      namespace,
      relay: name,
      owner: `${hostname()}/${process.pid}/${randomUUID()}`,
    });
    const metricSet = createMetricSet({ program: 'relay', withProcess: true });
    let relay: Relay | undefined;
    const stopRelay = async (reason: string) => {
      await relay?.stop(reason);
      await Promise.allSettled([outbox.close(), cluster.close()]);
    };
    try {
      const started = await startRelay({
        outbox,
        cluster,
        codec: createCodec({ registryUrl: config.TIDEMARK_REGISTRY }),
        namespace,
        name,
        leaseTtlMs: config.TIDEMARK_LEASE_TTL_MS,
        pollMs: config.TIDEMARK_RELAY_POLL_MS,
        replicationFactor: config.TIDEMARK_REPLICATION_FACTOR,
        logger,
        metrics: metricSet.metrics,
      });
      relay = started;
      const listener = await startHealthListener({
        port: config.TIDEMARK_METRICS_PORT,
        host: config.TIDEMARK_METRICS_HOST,
        metricSet,
        readiness: () => readinessOf(started),
      });
      return {
        logger,
        ended: started.ended,
        async stop(reason) {
          await stopRelay(reason);
          await listener.close();
        },
      };
    } catch (error) {
      await stopRelay('the start failed');
      throw error;
    }
  },
});

/** A relay that waits for its turn is as ready as it should be. */
function readinessOf({ state }: Relay) {
  if (state === RelayState.publishing || state === RelayState.standby) return { kind: 'ready' } as const;
  return { kind: 'not ready', reasons: [`the relay is ${state}`] } as const;
}
