/** What a command works with. */
import { hostname, userInfo } from 'node:os';
import type { FloorSight } from '@tidemark/control';
import type {
  ConnectConfig,
  Connections,
  FloorConnections,
  LogConnections,
  ServiceName,
} from '@tidemark/control/connect';
import { TidemarkError } from '@tidemark/keyspace';
import type { EffectiveConfig } from './config.ts';
import { ExitCode, fail } from './exit-code.ts';
import type { Format } from './output.ts';
import type { Terminal } from './terminal.ts';

export interface Context {
  readonly terminal: Terminal;
  readonly effective: EffectiveConfig;
  readonly format: Format;
}

/** Opens Kafka and the jobs in it for one command, and closes them whatever happens; what of `needed` is down is named at once. */
export async function withLog<T>(
  context: Context,
  needed: readonly ServiceName[],
  work: (connections: LogConnections) => Promise<T>,
): Promise<T> {
  const { connectLog } = await clients();
  return closing(await connectLog(connectConfig(context), needed), work);
}

/** As `withLog`, with the cursor store. */
export async function withConnections<T>(context: Context, work: (connections: Connections) => Promise<T>): Promise<T> {
  const { connect } = await clients();
  return closing(await connect(connectConfig(context)), work);
}

/** As `withLog`, with floors and marks. */
export async function withFloors<T>(context: Context, work: (connections: FloorConnections) => Promise<T>): Promise<T> {
  const { connectFloors } = await clients();
  return closing(await connectFloors(connectConfig(context)), work);
}

/** Floors for a look, where they can be had; where not, the work hears why, and goes on without. */
export async function withFloorSight<T>(context: Context, work: (sight: FloorSight) => Promise<T>): Promise<T> {
  const { openFloors } = await clients();
  const opened = await openFloors(connectConfig(context)).catch((error: unknown) => {
    if (error instanceof TidemarkError) return error.message;
    throw error;
  });
  if (typeof opened === 'string') return work({ kind: 'unknown', reason: opened });
  return closing(opened, (floors) => work({ kind: 'known', floors }));
}

/** Loaded when needed: without them the command line answers in a tenth of the time. */
function clients(): Promise<typeof import('@tidemark/control/connect')> {
  return import('@tidemark/control/connect');
}

async function closing<Opened extends { close(): Promise<void> }, T>(
  opened: Opened,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

function connectConfig({ effective: { config } }: Context): ConnectConfig {
  return {
    kafka: config.TIDEMARK_KAFKA,
    redisUrl: config.TIDEMARK_REDIS,
    registryUrl: config.TIDEMARK_REGISTRY,
    namespace: config.TIDEMARK_NAMESPACE,
    clientId: 'tidemark-cli',
  };
}

/** Who did it, for the audit trail. */
export function actor(): string {
  let user = 'unknown';
  try {
    user = userInfo().username;
  } catch {
    // A container may run under a number that has no name.
  }
  return `${user}@${hostname()}`;
}

/** Asks before something that hurts. A script is not asked: it means what it says. */
export async function confirmed({ terminal }: Context, question: string, yes: boolean): Promise<void> {
  if (yes || !terminal.isInteractive) return;
  if (!(await terminal.confirm(question))) fail(ExitCode.failed, 'nothing was changed');
}
