/** `npm run bench -- traverse | blocking | fairness | audit | relay | bloat [options]`: one JSON line on stdout, progress on stderr. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { assertNever } from '@tidemark/keyspace';
import { errorLine, exitCodeOf } from '@tidemark/observability';
import { up } from '@tidemark/stack';
import { type Order, type PeersAsked, readArguments, usage } from './arguments.ts';
import { runAudit } from './audit.ts';
import { runBloat } from './bloat.ts';
import { runBlocking } from './blocking.ts';
import { loadBenchConfig } from './config.ts';
import { runFairness } from './fairness.ts';
import type { RunOptions } from './own-runs.ts';
import { runRelay } from './relay.ts';
import { runRelayBesidePeers } from './relay-beside-peers.ts';
import { runSizes } from './sizes.ts';
import { runTraverse } from './traverse.ts';

const progress = (line: string): void => console.error(line);

async function run(order: Order): Promise<object> {
  switch (order.work) {
    case 'traverse':
      return await runTraverse(await optionsOf(order));
    case 'blocking':
      return await runBlocking(await optionsOf(order));
    case 'sizes':
      return await runSizes(await optionsOf({ peers: [], peersDir: undefined }));
    case 'fairness':
      return await runFairness(await optionsOf({ peers: [], peersDir: undefined }));
    case 'audit':
      return await runAudit(await optionsOf({ peers: [], peersDir: undefined }));
    case 'relay': {
      if (order.peers.length > 0) return await runRelayBesidePeers(await optionsOf(order), order.rows);
      const { kafka, postgres } = await up({ onProgress: progress });
      return await runRelay({ kafka, postgres, rows: order.rows, progress });
    }
    case 'bloat':
      return await runBloat({ ...order, progress });
    default:
      return assertNever(order);
  }
}

async function optionsOf({ peers, peersDir }: PeersAsked): Promise<RunOptions> {
  const config = loadBenchConfig(process.env);
  const peersFolder = peersDir ?? config.TIDEMARK_PEERS;
  if (peers.length > 0 && peersFolder === undefined)
    throw usage('--peers needs the folder of the peers: name it with --peers-dir DIR or TIDEMARK_PEERS=DIR');
  const { kafka, redis, registry } = await up({ onProgress: progress });
  return {
    kafka,
    redis,
    registry,
    peers,
    peersFolder: peersFolder ?? '',
    cacheFolder: join(config.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'tidemark'),
    quietSeconds: config.QUIET_S,
    inherited: process.env,
    progress,
  };
}

try {
  console.log(JSON.stringify(await run(readArguments(process.argv.slice(2)))));
} catch (error) {
  console.error(errorLine('bench', error));
  process.exitCode = exitCodeOf(error);
}
