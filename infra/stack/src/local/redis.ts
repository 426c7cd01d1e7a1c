/** One Redis that is a whole cluster: all slots on one node, so that a script which spans two slots fails here as it would in production. */
import { mkdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { findOnPath, run } from '../commands.ts';
import type { StackConfig } from '../config.ts';
import { aptInstall } from '../debian.ts';
import { StackError } from '../errors.ts';
import { PROBE_INTERVAL_MS, REDIS_CLUSTER_SLOTS, REDIS_MAJOR_MIN, START_TIMEOUT_MS } from '../limits.ts';
import { ask } from '../probe.ts';
import { startDetached } from '../processes.ts';
import type { OnProgress } from '../progress.ts';
import type { LocalService } from './service.ts';

export interface RedisOptions {
  folder: string;
  logFile: string;
  port: number;
  clusterBusPort: number;
  command: string;
  /** False for a plain server, which may be made a replica; left out = true. */
  cluster?: boolean;
  /** Further options as on the command line, e.g. `['--maxmemory', '10mb']`. */
  extra?: readonly string[];
}

export async function findRedis(config: StackConfig, onProgress: OnProgress): Promise<string> {
  let command = findOnPath('redis-server', config.path);
  if (!command && (await aptInstall(['redis-server'], { path: config.path, onProgress })))
    command = findOnPath('redis-server', config.path);
  if (!command)
    throw new StackError(
      'Redis is missing: install redis-server 7 or newer (Debian: apt-get install redis-server), start Docker, or set TIDEMARK_REDIS.',
    );
  const version = (await run(command, ['--version'])).stdout;
  const major = Number(/v=(\d+)/.exec(version)?.[1] ?? 0);
  if (major < REDIS_MAJOR_MIN)
    throw new StackError(`Redis ${REDIS_MAJOR_MIN} or newer is needed, ${command} says: ${version.trim()}`);
  return command;
}

export function redisService(options: RedisOptions): LocalService {
  const isCluster = options.cluster ?? true;
  return {
    name: 'redis',
    address: `redis://127.0.0.1:${options.port}`,
    ports: [options.port, options.clusterBusPort],
    logFile: options.logFile,
    async start() {
      mkdirSync(options.folder, { recursive: true });
      const args = [
        ...['--port', String(options.port), '--bind', '127.0.0.1', '--dir', options.folder],
        ...(isCluster ? clusterArguments(options.clusterBusPort) : []),
        ...['--appendonly', 'yes', '--save', '', '--maxmemory-policy', 'noeviction'],
        ...(options.extra ?? []),
      ];
      return startDetached({ command: options.command, args, cwd: options.folder, logFile: options.logFile });
    },
    settle: async () => {
      if (isCluster) await claimAllSlots(options.port);
    },
  };
}

function clusterArguments(busPort: number): string[] {
  return ['--cluster-enabled', 'yes', '--cluster-port', String(busPort), '--cluster-announce-ip', '127.0.0.1'];
}

/** The node remembers its slots; a new one gets all of them. After a restart it waits two seconds before it serves again. */
async function claimAllSlots(port: number): Promise<void> {
  if (/cluster_slots_assigned:0\r/.test(await command(port, ['CLUSTER', 'INFO']))) {
    const slots = Array.from({ length: REDIS_CLUSTER_SLOTS }, (_, slot) => String(slot));
    const answer = await command(port, ['CLUSTER', 'ADDSLOTS', ...slots]);
    if (!answer.startsWith('+OK')) throw new StackError(`Redis did not take the cluster slots: ${answer.trim()}`);
  }
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!/cluster_state:ok/.test(await command(port, ['CLUSTER', 'INFO']))) {
    if (performance.now() > deadline) throw new StackError('Redis does not reach cluster_state:ok.');
    await delay(PROBE_INTERVAL_MS);
  }
}

async function command(port: number, words: readonly string[]): Promise<string> {
  const request = `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
  const answer = await ask('127.0.0.1', port, Buffer.from(request), isWholeAnswer);
  return answer.toString('latin1');
}

/** A line, or a bulk string with all its bytes. */
function isWholeAnswer(got: Buffer): boolean {
  const end = got.indexOf('\r\n');
  if (end < 0) return false;
  if (got[0] !== 0x24) return true;
  return got.length >= end + 4 + Number(got.toString('latin1', 1, end));
}
