/** Local services for development and tests: one launcher, and the building blocks of private services. */

export { type CommandResult, run } from './src/commands.ts';
export {
  type Endpoints,
  endpointsAt,
  readConfig,
  SERVICE_NAMES,
  type ServiceName,
  type StackConfig,
  variableOf,
} from './src/config.ts';
export { composeVariables } from './src/docker.ts';
export { StackError } from './src/errors.ts';
export { CHROMIUM_ARGUMENTS, findChromium } from './src/local/chromium.ts';
export { ensureKafkaJars } from './src/local/jars.ts';
export { findJavas } from './src/local/java.ts';
export { javaArguments, type KafkaOptions, kafkaService } from './src/local/kafka.ts';
export { findPgbouncer } from './src/local/pgbouncer.ts';
export { findPostgres, type PostgresOptions, postgresService } from './src/local/postgres.ts';
export { findRedis, type RedisOptions, redisService } from './src/local/redis.ts';
export { type LocalService, STOP_SIGNALS } from './src/local/service.ts';
export { waitHealthy } from './src/probe.ts';
export { isAlive, type ProcessIdentity, stopProcess, tailOf, waitForEnd } from './src/processes.ts';
export {
  type ProgramOptions,
  type ProgramStatus,
  programs,
  startProgram,
  stopPrograms,
  WORKER_NODE_ARGUMENTS,
} from './src/programs.ts';
export type { OnProgress } from './src/progress.ts';
export {
  consolePort,
  down,
  endpoints,
  type LauncherOptions,
  type Mode,
  type RunningStack,
  restartRedisEmpty,
  type ServiceStatus,
  status,
  up,
} from './src/stack.ts';
