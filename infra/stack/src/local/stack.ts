/** The local services of a checkout: found healthy, repaired, or started, all at the same time. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutHash, type Ports, portsFrom, type ServiceName, type StackConfig } from '../config.ts';
import { messageOf, StackError } from '../errors.ts';
import { HUNG_AFTER_MS, HUNG_STOP_TIMEOUT_MS, START_TIMEOUT_MS, STOP_TIMEOUT_MS } from '../limits.ts';
import { isListening, waitHealthy } from '../probe.ts';
import { isAlive, type ProcessIdentity, stopProcess, tailOf } from '../processes.ts';
import type { OnProgress } from '../progress.ts';
import { readRecords, removeRecord, writeRecord } from '../records.ts';
import { ensureKafkaJars, ensureRegistryApp } from './jars.ts';
import { findJavas } from './java.ts';
import { kafkaService } from './kafka.ts';
import { findPostgres, postgresCanReach, postgresService } from './postgres.ts';
import { findRedis, redisService } from './redis.ts';
import { registryService } from './registry.ts';
import { type LocalService, STOP_SIGNALS } from './service.ts';

const KAFKA_HEAP_MEGABYTES = 1024;

/** The registry gives up when its broker is long in coming; once is bad luck, twice is a fault. */
const START_ATTEMPTS = 2;

export async function upLocal(
  config: StackConfig,
  options: { wanted: readonly ServiceName[]; portBase: number; onProgress: OnProgress },
): Promise<void> {
  const { portBase, onProgress } = options;
  const missing = await stopHung(config, options.wanted, onProgress);
  if (missing.length === 0) return;
  const ports = portsFrom(portBase);
  const services = await prepare(config, { missing, ports, onProgress });
  for (const service of services) await requireFreePorts(service);
  const started = new Map<ServiceName, ProcessIdentity>();
  const results = await Promise.allSettled(
    services.map((service) => startOne(config, { service, portBase, started, onProgress })),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (!failed) return;
  // What this call started goes again; what ran before it stays.
  await Promise.all([...started].map(([name, identity]) => stopAndForget(config, { name, identity })));
  throw failed.reason instanceof StackError
    ? failed.reason
    : new StackError(messageOf(failed.reason), { cause: failed.reason });
}

/** Stops what is alive but hangs; returns the names of all that must be started. */
async function stopHung(
  config: StackConfig,
  wanted: readonly ServiceName[],
  onProgress: OnProgress,
): Promise<ServiceName[]> {
  const records = readRecords(config);
  const missing: ServiceName[] = [];
  for (const name of wanted) {
    const record = records[name];
    if (record?.mode === 'local' && isAlive(record.process)) {
      const identity = record.process;
      const alive = (): boolean => isAlive(identity);
      const fault = await waitHealthy({
        service: name,
        address: record.address,
        timeoutMs: HUNG_AFTER_MS,
        isAlive: alive,
      });
      if (fault === undefined) continue;
      onProgress(`${name} (pid ${identity.pid}) is not healthy: ${fault}; starting it again`);
      await stopAndForget(config, { name, identity, timeoutMs: HUNG_STOP_TIMEOUT_MS });
    }
    missing.push(name);
  }
  return missing;
}

async function prepare(
  config: StackConfig,
  options: { missing: readonly ServiceName[]; ports: Ports; onProgress: OnProgress },
): Promise<LocalService[]> {
  const { missing, ports, onProgress } = options;
  const data = (name: ServiceName): string => join(config.folder, 'data', name);
  const log = (name: ServiceName): string => join(config.folder, 'logs', `${name}.log`);
  const services: LocalService[] = [];
  // One after the other: two of them may install packages.
  if (missing.includes('redis')) {
    const command = await findRedis(config, onProgress);
    const { redis: port, redisClusterBus: clusterBusPort } = ports;
    services.push(redisService({ folder: data('redis'), logFile: log('redis'), port, clusterBusPort, command }));
  }
  if (missing.includes('postgres')) {
    const bin = await findPostgres(config, onProgress);
    const folder = (await postgresCanReach(config.root))
      ? data('postgres')
      : `/var/tmp/tidemark-${checkoutHash(config.root)}/postgres`;
    services.push(postgresService({ folder, logFile: join(folder, 'server.log'), port: ports.postgres, bin }));
  }
  if (!missing.includes('kafka') && !missing.includes('registry')) return services;
  const java = await findJavas(config, { registry: missing.includes('registry') }, onProgress);
  if (missing.includes('kafka')) {
    const jars = await ensureKafkaJars(config, onProgress);
    const own = { port: ports.kafka, controllerPort: ports.kafkaController, heapMegabytes: KAFKA_HEAP_MEGABYTES };
    services.push(
      kafkaService({ folder: data('kafka'), logFile: log('kafka'), jars, java: java.kafka.command, ...own }),
    );
  }
  if (missing.includes('registry')) {
    const app = await ensureRegistryApp(config, onProgress);
    const kafka = config.given.kafka ?? `127.0.0.1:${ports.kafka}`;
    const own = { port: ports.registry, managementPort: ports.registryManagement, kafka };
    services.push(
      registryService({ folder: data('registry'), logFile: log('registry'), app, java: java.registry.command, ...own }),
    );
  }
  return services;
}

async function requireFreePorts(service: LocalService): Promise<void> {
  for (const port of service.ports) {
    if (!(await isListening(port))) continue;
    throw new StackError(
      `Port ${port}, wanted for ${service.name}, is taken by a process that this stack did not start. Stop it, or move the stack: TIDEMARK_STACK_PORT=<first of ten free ports>.`,
    );
  }
}

async function startOne(
  config: StackConfig,
  options: {
    service: LocalService;
    portBase: number;
    started: Map<ServiceName, ProcessIdentity>;
    onProgress: OnProgress;
  },
): Promise<void> {
  const { service, portBase, started, onProgress } = options;
  const from = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    if (existsSync(service.logFile) && service.name !== 'postgres')
      renameSync(service.logFile, `${service.logFile}.previous`);
    const identity = await service.start();
    started.set(service.name, identity);
    writeRecord(config, service.name, {
      mode: 'local',
      address: service.address,
      portBase,
      process: identity,
    });
    const fault = await waitHealthy({
      service: service.name,
      address: service.address,
      timeoutMs: START_TIMEOUT_MS,
      isAlive: () => isAlive(identity),
    });
    if (fault === undefined) break;
    await stopAndForget(config, { name: service.name, identity });
    if (attempt < START_ATTEMPTS && service.name === 'registry') continue;
    throw new StackError(
      `${service.name} at ${service.address} did not start: ${fault}\n${tailOf(service.logFile)}\nIts log: ${service.logFile}`,
    );
  }
  await service.settle();
  onProgress(`${service.name} is up at ${service.address} (${((performance.now() - from) / 1000).toFixed(1)} s)`);
}

async function stopAndForget(
  config: StackConfig,
  options: { name: ServiceName; identity: ProcessIdentity; timeoutMs?: number },
): Promise<void> {
  const { name, identity, timeoutMs = STOP_TIMEOUT_MS } = options;
  await stopProcess(identity, { signal: STOP_SIGNALS[name], timeoutMs });
  removeRecord(config, name);
}

/** Kills Redis and removes what it kept: the next `upLocal` starts one that knows nothing. */
export async function loseLocalRedis(config: StackConfig, identity: ProcessIdentity): Promise<void> {
  await stopProcess(identity, { signal: 'SIGKILL', timeoutMs: STOP_TIMEOUT_MS });
  removeRecord(config, 'redis');
  rmSync(join(config.folder, 'data/redis'), { recursive: true, force: true });
}

/** The registry first: it would wait for a broker that is gone. */
export async function downLocal(config: StackConfig, onProgress: OnProgress): Promise<void> {
  const records = readRecords(config);
  const stop = async (name: ServiceName): Promise<void> => {
    const record = records[name];
    if (record?.mode !== 'local') return;
    if (isAlive(record.process)) onProgress(`stopping ${name} (pid ${record.process.pid})`);
    await stopAndForget(config, { name, identity: record.process });
  };
  await Promise.all([stop('registry').then(() => stop('kafka')), stop('redis'), stop('postgres')]);
}
