/** The same four services as containers, for machines with a Docker engine. */
import { join } from 'node:path';
import { findOnPath, run } from './commands.ts';
import { checkoutHash, endpointsAt, portsFrom, type ServiceName, type StackConfig } from './config.ts';
import { StackError } from './errors.ts';
import { DOCKER_INFO_TIMEOUT_MS, DOCKER_TIMEOUT_MS, START_TIMEOUT_MS } from './limits.ts';
import { waitHealthy } from './probe.ts';
import type { OnProgress } from './progress.ts';
import { readRecords, removeRecord, writeRecord } from './records.ts';

export async function dockerAnswers(config: StackConfig): Promise<boolean> {
  if (!findOnPath('docker', config.path)) return false;
  // Without an engine `docker info` may print the client's part and still exit with 0, so the server's version is asked for.
  const info = await run('docker', ['info', '--format', '{{.ServerVersion}}'], { timeoutMs: DOCKER_INFO_TIMEOUT_MS });
  if (info.code !== 0 || !/^\d/.test(info.stdout.trim())) return false;
  // Some distributions ship the engine without Compose; the native path serves there.
  return (await run('docker', ['compose', 'version'], { timeoutMs: DOCKER_INFO_TIMEOUT_MS })).code === 0;
}

export async function upDocker(
  config: StackConfig,
  options: { wanted: readonly ServiceName[]; portBase: number; onProgress: OnProgress },
): Promise<void> {
  const { wanted, portBase, onProgress } = options;
  onProgress(`starting ${wanted.join(', ')} with Docker`);
  await compose(config, portBase, ['up', '--detach', '--wait', ...wanted]);
  const endpoints = endpointsAt(portsFrom(portBase));
  for (const name of wanted) {
    const address = endpoints[name];
    const fault = await waitHealthy({ service: name, address, timeoutMs: START_TIMEOUT_MS });
    if (fault !== undefined) throw new StackError(`${name} runs in Docker but ${address} is not healthy: ${fault}`);
    writeRecord(config, name, { mode: 'docker', address, portBase });
    onProgress(`${name} is up at ${address}`);
  }
}

export async function downDocker(config: StackConfig, onProgress: OnProgress): Promise<void> {
  const records = Object.entries(readRecords(config)).filter(([, record]) => record.mode === 'docker');
  const base = records[0]?.[1].portBase;
  if (base === undefined) return;
  onProgress('stopping the containers');
  await compose(config, base, ['down']); // the volumes stay, as the data folders of local services do
  for (const [name] of records) removeRecord(config, name as ServiceName);
}

/** What `docker-compose.yml` reads: the ports on the host. */
export function composeVariables(ports: Record<ServiceName, number>): Record<string, string> {
  return {
    TIDEMARK_STACK_KAFKA_PORT: String(ports.kafka),
    TIDEMARK_STACK_POSTGRES_PORT: String(ports.postgres),
    TIDEMARK_STACK_REGISTRY_PORT: String(ports.registry),
    TIDEMARK_STACK_REDIS_PORT: String(ports.redis),
  };
}

async function compose(config: StackConfig, portBase: number, args: string[]): Promise<void> {
  const file = join(config.root, 'docker-compose.yml');
  // Named after the checkout, so that two checkouts (or a developer's and a build's) do not share containers.
  const project = `tidemark-${checkoutHash(config.root)}`;
  const result = await run('docker', ['compose', '--project-name', project, '--file', file, ...args], {
    cwd: config.root,
    env: composeVariables(portsFrom(portBase)),
    timeoutMs: DOCKER_TIMEOUT_MS,
  });
  if (result.code === 0) return;
  // Lines that begin with a blank tell the progress of each container.
  const said = result.stderr
    .split('\n')
    .filter((line) => /^\S/.test(line))
    .slice(-5)
    .join('\n');
  const wayOut = /port is already allocated|address already in use/.test(said)
    ? '\nStop what listens there, or move the stack: TIDEMARK_STACK_PORT=<first of ten free ports>.'
    : '';
  throw new StackError(`docker compose ${args[0]} failed: ${said}${wayOut}`);
}
