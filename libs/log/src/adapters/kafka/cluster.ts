/** The Kafka adapter as one thing: shared catalog, a connection set a reader, a producer a writer. */
import type { Kafka } from 'kafkajs';
import type { LogCluster } from '../../ports.ts';
import { KafkaCatalog } from './catalog.ts';
import { BrokerConnections, type ClusterAddress } from './connections.ts';
import { PartitionFetcher } from './fetcher.ts';
import { type KafkaLogger, silentLogger } from './logger.ts';
import { KafkaReader } from './reader.ts';
import { RecordPlacer } from './record-placer.ts';
import { TopicAdmin } from './topic-admin.ts';
import { openTransactionalWriter } from './transactional-writer.ts';
import { KafkaTransactions } from './transactions.ts';
import { KafkaWriter } from './writer.ts';

export interface KafkaClusterOptions extends ClusterAddress {
  readonly logger?: KafkaLogger;
}

/** Connects nothing yet. `close` also closes every reader and writer that is still open. */
export function createKafkaCluster(options: KafkaClusterOptions): LogCluster {
  const logger = options.logger ?? silentLogger;
  let client: Promise<Kafka> | undefined;
  // Who only reads does not load the client that writes.
  const kafka = (): Promise<Kafka> => {
    client ??= import('./kafkajs-client.ts').then(({ createKafkajs }) => createKafkajs(options, logger));
    return client;
  };
  const openFetcher = () => new PartitionFetcher(new BrokerConnections(options));
  const transactions = new KafkaTransactions(new BrokerConnections(options), openFetcher);
  const catalog = new KafkaCatalog(new BrokerConnections(options), new TopicAdmin(kafka), transactions);
  const placer = new RecordPlacer((topic) => catalog.factsOf(topic));
  const open = new Set<{ close(): Promise<void> }>();
  const tracked = <T extends { close(): Promise<void> }>(part: T): T => {
    const close = part.close.bind(part);
    part.close = () => {
      open.delete(part);
      return close();
    };
    open.add(part);
    return part;
  };
  return {
    catalog,
    openReader: () => tracked(new KafkaReader(openFetcher(), logger)),
    openWriter: async () => tracked(await new KafkaWriter(await kafka(), placer).open()),
    openTransactionalWriter: async (wanted) => tracked(await openTransactionalWriter(await kafka(), placer, wanted)),
    close: async () => {
      await Promise.all([...open].map((part) => part.close()));
      await catalog.close();
    },
  };
}
