export { createKafkaCluster } from './cluster.ts';
