/** What must be known of the serving node itself: which life it is in, and whether it may throw our keys away. */
import { checkNamespace, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { createRedisConnection, type RedisConnection, type RedisConnectionOptions } from './connection.ts';

const VERSION_MAJOR_MIN = 7;

export interface RedisOptions extends RedisConnectionOptions {
  readonly namespace: string;
}

/** Connects, and refuses a Redis that may evict keys. Throws TidemarkError `unavailable` or `config`. */
export async function connectServing(options: RedisOptions): Promise<RedisConnection> {
  checkNamespace(options.namespace);
  const connection = createRedisConnection(options);
  try {
    await checkServingNode(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
  return connection;
}

/** run_id changes with every start of the process, master_replid when its data came from another node. */
export async function readIncarnation(connection: RedisConnection): Promise<string> {
  const info = String(await connection.command('INFO', 'server', 'replication'));
  return `${field(info, 'run_id')}:${field(info, 'master_replid')}`;
}

/** Throws TidemarkError `config` for a Redis that would lose keys by itself, or is too old for our scripts. */
async function checkServingNode(connection: RedisConnection): Promise<void> {
  const server = String(await connection.command('INFO', 'server'));
  const version = field(server, 'redis_version');
  if (Number.parseInt(version, 10) < VERSION_MAJOR_MIN)
    throw new TidemarkError({
      code: 'REDIS_TOO_OLD',
      class: ErrorClass.config,
      message: `Redis at ${connection.address} is ${version}, ${VERSION_MAJOR_MIN}.0 or newer is needed.`,
      context: { address: connection.address, version },
    });
  // From INFO, because managed services often forbid CONFIG.
  const policy = field(String(await connection.command('INFO', 'memory')), 'maxmemory_policy');
  if (policy !== 'noeviction')
    throw new TidemarkError({
      code: 'REDIS_MAY_EVICT',
      class: ErrorClass.config,
      message: `Redis at ${connection.address} has maxmemory-policy ${policy}: it may throw cursors away when memory is short. Set maxmemory-policy to noeviction.`,
      context: { address: connection.address, policy },
    });
}

function field(info: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
}
