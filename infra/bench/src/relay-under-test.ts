/**
 * The relay as the peers' harness measures it: services/relay with its own defaults, told in the harness's words where
 * Kafka and Postgres are. The harness makes up the topic's name after the outbox is installed and tells it to the relay
 * alone, so here, and nowhere else, a row's topic is replaced as the row is read.
 */
import { enableCompileCache } from 'node:module';

enableCompileCache();
const { createCodec } = await import('@tidemark/contracts/registry');
const { createKafkaCluster } = await import('@tidemark/log/kafka');
const { createLogger, createMetricSet, runProgram } = await import('@tidemark/observability');
const { openPostgresOutbox } = await import('@tidemark/outbox/postgres');
const { startRelay } = await import('@tidemark/relay');
const { loadRelayUnderTestConfig } = await import('./config.ts');
const { intoTopic } = await import('./relay-topic.ts');

await runProgram({
  name: 'bench relay',
  async start() {
    const config = loadRelayUnderTestConfig(process.env);
    const namespace = config.TIDEMARK_NAMESPACE;
    const logger = createLogger({ program: 'relay', level: config.TIDEMARK_LOG_LEVEL });
    const cluster = createKafkaCluster({ brokers: config.KAFKA_BOOTSTRAP, clientId: 'tidemark-bench-relay', logger });
    const outbox = openPostgresOutbox({
      url: `postgres://postgres@127.0.0.1:${config.OUTBOX_PG_PORT}/postgres`,
      namespace,
      relay: 'main',
      owner: `bench/${process.pid}`,
    });
    const relay = await startRelay({
      outbox: { ...outbox, reader: intoTopic(outbox.reader, config.OUTBOX_TOPIC) },
      cluster,
      codec: createCodec({ registryUrl: config.TIDEMARK_REGISTRY }),
      namespace,
      logger,
      metrics: createMetricSet({ program: 'relay', withProcess: true }).metrics,
    });
    return {
      logger,
      ended: relay.ended,
      async stop(reason) {
        await relay.stop(reason);
        await Promise.allSettled([outbox.close(), cluster.close()]);
      },
    };
  },
});
