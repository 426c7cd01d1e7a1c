/** Real services for tests. See the README. */

export { type Browser, chromium } from './src/chromium.ts';
export type { ConsoleRecord } from './src/console-format.ts';
export { freePorts } from './src/free-ports.ts';
export {
  type Compression,
  consoleConsumer,
  javaEndOffsets,
  javaFill,
  javaProduce,
  kafkaTool,
} from './src/java-tools.ts';
export { type PrivatePgbouncer, privatePgbouncer } from './src/private-pgbouncer.ts';
export {
  type PrivatePostgres,
  type PrivateService,
  postgresProgram,
  privateKafka,
  privatePostgres,
  privateRedis,
} from './src/private-services.ts';
export { environmentOf, services, uniqueName, uniqueNamespace } from './src/services.ts';
export {
  type LoggedLine,
  type ProgramExit,
  type ProgramToSpawn,
  type SpawnedProgram,
  spawnProgram,
} from './src/spawned-program.ts';
export { type Piece, type ProxyOptions, type TcpProxy, tcpProxy, type Wire } from './src/tcp-proxy.ts';
export {
  addPartitions,
  beginTransaction,
  commitOffset,
  createTopic,
  deleteRecordsBefore,
  deleteTopic,
  FAST_COMPACTION,
  kafkaClient,
  type OnBroker,
  type OpenTransaction,
  produce,
  produceTransactions,
} from './src/topics.ts';
export { waitFor } from './src/wait-for.ts';
