/** Services that one test owns and may kill: free ports, a temporary folder that survives a restart, and an end that cleans up. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  ensureKafkaJars,
  findJavas,
  findPostgres,
  findRedis,
  isAlive,
  kafkaService,
  type LocalService,
  type ProcessIdentity,
  postgresService,
  readConfig,
  redisService,
  STOP_SIGNALS,
  stopProcess,
  tailOf,
  waitForEnd,
  waitHealthy,
} from '@tidemark/stack';
import { endsWithProcess } from './ends-with-process.ts';
import { freePorts } from './free-ports.ts';
import {
  PRIVATE_KAFKA_HEAP_MEGABYTES,
  PRIVATE_START_ATTEMPTS,
  PRIVATE_START_TIMEOUT_MS,
  PRIVATE_STOP_TIMEOUT_MS,
} from './limits.ts';

export interface PrivateService {
  /** As in `services()`: host:port of Kafka, a URL of the others. It stays the same over restarts. */
  readonly address: string;
  readonly folder: string;
  pid(): number;
  /** SIGKILL: nothing is flushed, nobody is told. Resolves when the process is gone. */
  kill(): Promise<void>;
  /** An orderly end; the data stays. */
  shutdown(): Promise<void>;
  /** Starts it again on its data, and resolves when it is healthy. */
  start(): Promise<void>;
  /** Sends any other signal, e.g. SIGSTOP and SIGCONT for a service that hangs. */
  signal(signal: NodeJS.Signals): void;
  /** Ends it and removes its folder. To be called when the test is over, whatever happened. */
  stop(): Promise<void>;
}

export interface PrivatePostgres extends PrivateService {
  /** SIGQUIT to the postmaster, Postgres' "immediate" shutdown: as a crash, without the risk of orphans. Resolves when it is gone. */
  stopImmediate(): Promise<void>;
}

const silent = (): void => {};

/**
 * By default Redis puts off the write itself while a sync of the second before is under way, and answers all the same. With
 * this it writes before it answers, and no SIGKILL takes what was written.
 */
const WRITE_BEFORE_ANSWER = ['--appendfsync', 'no'];

/** In cluster mode, as the stack's Redis, unless `cluster` is false. `extra` has the last word. */
export async function privateRedis(
  options: { cluster?: boolean; extra?: readonly string[] } = {},
): Promise<PrivateService> {
  const command = await findRedis(readConfig(), silent);
  const [port, clusterBusPort] = await freePorts(2);
  return startPrivate('redis', (folder) =>
    redisService({
      folder: join(folder, 'data'),
      logFile: join(folder, 'redis.log'),
      port,
      clusterBusPort,
      command,
      ...options,
      extra: [...WRITE_BEFORE_ANSWER, ...(options.extra ?? [])],
    }),
  );
}

export async function privatePostgres(
  options: { settings?: Readonly<Record<string, string>> } = {},
): Promise<PrivatePostgres> {
  const bin = await findPostgres(readConfig(), silent);
  const [port] = await freePorts(1);
  const service = await startPrivate('postgres', (folder) =>
    postgresService({
      folder: join(folder, 'server'),
      logFile: join(folder, 'server', 'server.log'),
      port,
      bin,
      ...options,
    }),
  );
  return { ...service, stopImmediate: () => service.end('SIGQUIT') };
}

export async function privateKafka(
  options: { settings?: Readonly<Record<string, string>> } = {},
): Promise<PrivateService> {
  const config = readConfig();
  const { kafka: java } = await findJavas(config, { registry: false }, silent);
  const jars = await ensureKafkaJars(config, silent);
  const [port, controllerPort] = await freePorts(2);
  const own = { port, controllerPort, jars, java: java.command, heapMegabytes: PRIVATE_KAFKA_HEAP_MEGABYTES };
  return startPrivate('kafka', (folder) =>
    kafkaService({ folder: join(folder, 'data'), logFile: join(folder, 'kafka.log'), ...own, ...options }),
  );
}

async function startPrivate(
  name: string,
  make: (folder: string) => LocalService,
): Promise<PrivateService & { end(signal: NodeJS.Signals): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), `tidemark-${name}-`));
  chmodSync(folder, 0o755); // Postgres may run as another user
  const service = make(folder);
  let identity: ProcessIdentity | undefined;

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!identity) return;
    await stopProcess(identity, { signal, timeoutMs: PRIVATE_STOP_TIMEOUT_MS });
  };
  const start = async (): Promise<void> => {
    if (identity && isAlive(identity)) return;
    await startHealthy(service, (started) => {
      identity = started;
    });
  };
  const hasEnded = endsWithProcess(() => {
    if (identity && isAlive(identity)) process.kill(identity.pid, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const stop = async (): Promise<void> => {
    await end('SIGKILL');
    if (identity) await waitForEnd(identity, PRIVATE_START_TIMEOUT_MS);
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    hasEnded();
  };
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    address: service.address,
    folder,
    pid: () => identity?.pid ?? -1,
    kill: () => end('SIGKILL'),
    shutdown: () => end(STOP_SIGNALS[service.name]),
    start,
    signal: (signal) => {
      if (identity && isAlive(identity)) process.kill(identity.pid, signal);
    },
    stop,
    end,
  };
}

async function startHealthy(service: LocalService, onStart: (identity: ProcessIdentity) => void): Promise<void> {
  let fault: string | undefined;
  for (let attempt = 0; attempt < PRIVATE_START_ATTEMPTS; attempt += 1) {
    try {
      const identity = await service.start();
      onStart(identity);
      fault = await waitHealthy({
        service: service.name,
        address: service.address,
        timeoutMs: PRIVATE_START_TIMEOUT_MS,
        isAlive: () => isAlive(identity),
      });
      if (fault === undefined) {
        await service.settle();
        return;
      }
      await stopProcess(identity, { signal: 'SIGKILL' });
    } catch (error) {
      fault = error instanceof Error ? error.message : String(error);
    }
    await delay(200); // sessions of a killed Postgres are about to notice
  }
  throw new Error(`private ${service.name} did not start: ${fault}\n${tailOf(service.logFile)}`);
}

/** The path of a program that comes with Postgres, such as pgbench. */
export async function postgresProgram(name: string): Promise<string> {
  return join(await findPostgres(readConfig(), silent), name);
}
