/** The launcher: decides per service where it comes from (environment, Docker, local process) and tells what runs. */
import {
  type Endpoints,
  portsFrom,
  readConfig,
  SERVICE_NAMES,
  type ServiceName,
  type StackConfig,
  variableOf,
} from './config.ts';
import { dockerAnswers, downDocker, upDocker } from './docker.ts';
import { StackError } from './errors.ts';
import { PORT_BASE_DEFAULT } from './limits.ts';
import { downLocal, loseLocalRedis, upLocal } from './local/stack.ts';
import { withLock } from './lock.ts';
import { probe } from './probe.ts';
import { type OnProgress, silent } from './progress.ts';
import { isRunning, type Records, readRecords } from './records.ts';

export type Mode = 'given' | 'docker' | 'local';

/** `mode` tells where the services come from that the environment does not give. */
export type RunningStack = Endpoints & { mode: Mode };

export type ServiceStatus = {
  name: ServiceName;
  mode: Mode | 'none';
  address: string | undefined;
  healthy: boolean;
  pid?: number;
  fault?: string;
};

export interface LauncherOptions {
  onProgress?: OnProgress;
}

/** Brings up what is not running. Safe to call again and from several processes at once. */
export async function up(options: LauncherOptions = {}): Promise<RunningStack> {
  const config = readConfig();
  const onProgress = options.onProgress ?? silent;
  await checkGiven(config);
  const wanted = SERVICE_NAMES.filter((name) => config.given[name] === undefined);
  if (wanted.length === 0) return { ...(config.given as Endpoints), mode: 'given' };
  return withLock(config.folder, onProgress, async () => {
    const records = readRecords(config);
    const portBase = choosePortBase(config, records);
    const running = wanted.map((name) => records[name]).find(isRunning);
    // A stack that runs is completed the way it was begun, whatever has become of Docker meanwhile.
    const mode = running?.mode ?? ((await dockerAnswers(config)) ? 'docker' : 'local');
    await (mode === 'docker' ? upDocker : upLocal)(config, { wanted, portBase, onProgress });
    return { ...endpointsOf(config), mode };
  });
}

/** Stops what the launcher started, waits for its end, and keeps the data. Given services are left alone. */
export async function down(options: LauncherOptions = {}): Promise<void> {
  const config = readConfig();
  const onProgress = options.onProgress ?? silent;
  await withLock(config.folder, onProgress, async () => {
    await downDocker(config, onProgress);
    await downLocal(config, onProgress);
  });
}

/** Where a console of this checkout listens: as the environment says, else the last port of the stack's block. */
export function consolePort(): number {
  const config = readConfig();
  return config.consolePort ?? portsFrom(choosePortBase(config, readRecords(config))).console;
}

/**
 * For demonstrations of a crash: a Redis that comes back empty, as another one. Only a Redis that this launcher started
 * as a local process; for any other it does nothing. Answers when the old one was gone.
 */
export async function restartRedisEmpty(options: LauncherOptions = {}): Promise<Date | undefined> {
  const config = readConfig();
  const record = readRecords(config).redis;
  if (config.given.redis !== undefined || record?.mode !== 'local') return undefined;
  const goneAt = await withLock(config.folder, options.onProgress ?? silent, async () => {
    await loseLocalRedis(config, record.process);
    return new Date();
  });
  await up(options);
  return goneAt;
}

export async function status(): Promise<ServiceStatus[]> {
  const config = readConfig();
  const records = readRecords(config);
  return Promise.all(SERVICE_NAMES.map((name) => statusOf(name, config, records)));
}

/** Addresses of the stack that is running; an error that says what to do when it is not. Looks at pids, asks no service. */
export function endpoints(): Endpoints {
  return endpointsOf(readConfig());
}

function endpointsOf(config: StackConfig): Endpoints {
  const records = readRecords(config);
  const found: Partial<Endpoints> = {};
  const missing: ServiceName[] = [];
  for (const name of SERVICE_NAMES) {
    const record = records[name];
    const address = config.given[name] ?? (isRunning(record) ? record?.address : undefined);
    if (address === undefined) missing.push(name);
    else found[name] = address;
  }
  if (missing.length === 0) return found as Endpoints;
  const variables = missing.map(variableOf).join(', ');
  throw new StackError(
    `Not running: ${missing.join(', ')}. Start the services with "tidemark up", or give running ones by ${variables}.`,
  );
}

async function statusOf(name: ServiceName, config: StackConfig, records: Records): Promise<ServiceStatus> {
  const given = config.given[name];
  const record = records[name];
  const address = given ?? record?.address;
  if (address === undefined) return { name, mode: 'none', address, healthy: false, fault: 'not started' };
  const mode = given === undefined ? (record?.mode ?? 'none') : 'given';
  const process = given === undefined && record?.mode === 'local' ? record.process : undefined;
  if (process && !isRunning(record))
    return { name, mode, address, healthy: false, fault: `its process ${process.pid} is gone` };
  const fault = await probe(name, address);
  return {
    name,
    mode,
    address,
    healthy: fault === undefined,
    ...(process ? { pid: process.pid } : {}),
    ...(fault === undefined ? {} : { fault }),
  };
}

async function checkGiven(config: StackConfig): Promise<void> {
  const faults = await Promise.all(
    SERVICE_NAMES.map(async (name) => {
      const address = config.given[name];
      if (address === undefined) return undefined;
      const fault = await probe(name, address);
      return fault === undefined ? undefined : `${name} at ${address} (${variableOf(name)}) cannot be used: ${fault}`;
    }),
  );
  const told = faults.filter((fault) => fault !== undefined);
  if (told.length > 0) throw new StackError(told.join('\n'));
}

function choosePortBase(config: StackConfig, records: Records): number {
  const running = Object.values(records).find(isRunning);
  const wish = config.portBase;
  if (running && wish !== undefined && wish !== running.portBase) {
    const now = portsFrom(running.portBase);
    throw new StackError(
      `The stack of this checkout runs at ports from ${running.portBase} (Kafka ${now.kafka}); stop it with "tidemark down" before moving it to ${wish}.`,
    );
  }
  return wish ?? running?.portBase ?? PORT_BASE_DEFAULT;
}
