/** One kafkajs client with our patience and our log. */
import { Kafka, type KafkaConfig, type LogEntry, logLevel } from 'kafkajs';
import { CONNECT_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from '../../limits.ts';
import type { ClusterAddress } from './connections.ts';
import { rememberCoordinators } from './kafkajs-coordinator.ts';
import { replaceProduceEncoding } from './kafkajs-produce.ts';
import { repairTimers } from './kafkajs-timers.ts';
import type { KafkaLogger } from './logger.ts';
import { retryPolicy } from './retry-policy.ts';

export function createKafkajs(address: ClusterAddress, logger: KafkaLogger): Kafka {
  repairTimers();
  replaceProduceEncoding();
  rememberCoordinators();
  const config: KafkaConfig = {
    brokers: [...address.brokers],
    clientId: address.clientId,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    retry: retryPolicy,
    logLevel: logLevel.WARN,
    // What matters of its log comes back as an error that we throw; a line for each retry would bury it.
    logCreator: () => (entry: LogEntry) =>
      logger.debug({ component: entry.namespace, detail: entry.log.message }, 'kafkajs.log'),
  };
  return new Kafka(config);
}
