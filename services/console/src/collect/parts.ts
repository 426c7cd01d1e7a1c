/**
 * The connections. A console must start while everything is down, for that is when people look at it; so nothing is
 * connected here, and what failed to open is opened anew by the next look.
 */
import { createCodec } from '@tidemark/contracts/registry';
import type { ControlParts } from '@tidemark/control';
import type { CursorStore, FloorStore, Schedule } from '@tidemark/cursors';
import { createRedisCursorStore, createRedisFloorStore, createRedisSchedule } from '@tidemark/cursors/redis';
import { createJobLog } from '@tidemark/jobs/kafka';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { createOpened, type Logger } from '@tidemark/observability';
import type { Outbox } from '@tidemark/outbox';
import { openPostgresOutbox } from '@tidemark/outbox/postgres';
import { REGISTRY_TIMEOUT_MS, REOPEN_AFTER_MS } from '../limits.ts';

export interface Cursors {
  readonly store: CursorStore;
  readonly schedule: Schedule;
  readonly floors: Pick<FloorStore, 'look'>;
}

interface OpenCursors extends Cursors {
  close(): Promise<void>;
}

export interface ConsoleParts extends Pick<ControlParts, 'cluster' | 'codec' | 'jobLog' | 'namespace'> {
  readonly relay: string;
  readonly outbox: Pick<Outbox, 'reader' | 'lease'>;
  cursors(): Promise<Cursors>;
  /** Rejects when the registry does not answer. */
  askRegistry(): Promise<void>;
  close(): Promise<void>;
}

export interface ConnectionOptions {
  readonly kafka: readonly string[];
  readonly redisUrl: string;
  readonly postgresUrl: string;
  readonly registryUrl: string;
  readonly namespace: string;
  readonly relay: string;
  readonly logger: Logger;
}

export function openParts(options: ConnectionOptions): ConsoleParts {
  const { namespace, relay, logger } = options;
  const cluster = createKafkaCluster({ brokers: options.kafka, clientId: 'tidemark-console', logger });
  const codec = createCodec({ registryUrl: options.registryUrl });
  const outbox = openPostgresOutbox({
    url: options.postgresUrl,
    namespace,
    relay,
    // It only looks, and never takes the lease that this would name.
    owner: `console.${process.pid}`,
  });
  const jobLog = createJobLog({ cluster, codec, namespace });
  const cursors = createReopening(() => openCursors(options.redisUrl, namespace));
  return {
    namespace,
    relay,
    cluster,
    codec,
    jobLog,
    outbox,
    cursors: cursors.get,
    askRegistry: () => askRegistry(options.registryUrl),
    async close() {
      await Promise.allSettled([cursors.close(), outbox.close(), jobLog.close()]);
      await cluster.close();
    },
  };
}

/** What is open is closed again when the rest does not open. */
async function openCursors(url: string, namespace: string): Promise<OpenCursors> {
  const { keep, closeAll } = createOpened();
  try {
    const store = keep(await createRedisCursorStore({ url, namespace }));
    const schedule = keep(await createRedisSchedule({ url, namespace }));
    const floors = keep(await createRedisFloorStore({ url, namespace }));
    return { store, schedule, floors, close: closeAll };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** Opens on the first need and keeps; a failure is repeated for a moment, so that nobody hammers a server that is down. */
function createReopening(open: () => Promise<OpenCursors>): { get(): Promise<Cursors>; close(): Promise<void> } {
  let opening: Promise<OpenCursors> | undefined;
  let failure: { readonly error: unknown; readonly atMs: number } | undefined;
  return {
    get() {
      if (opening !== undefined) return opening;
      if (failure !== undefined && performance.now() - failure.atMs < REOPEN_AFTER_MS)
        return Promise.reject(failure.error);
      opening = open().catch((error: unknown) => {
        failure = { error, atMs: performance.now() };
        opening = undefined;
        throw error;
      });
      return opening;
    },
    async close() {
      const opened = await opening?.catch(() => undefined);
      await opened?.close();
    },
  };
}

/** Any answer of an HTTP server that is not a server's fault: what matters is that schemas can be asked for. */
async function askRegistry(url: string): Promise<void> {
  const base = new URL(url);
  // fetch takes no login inside a URL.
  const { username, password } = base;
  base.username = '';
  base.password = '';
  const login =
    username === ''
      ? {}
      : { authorization: `Basic ${btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)}` };
  const response = await fetch(`${base.href.replace(/\/$/, '')}/subjects`, {
    headers: login,
    signal: AbortSignal.timeout(REGISTRY_TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw new Error(`the schema registry at ${base.host} does not answer: ${causeOf(error)}`);
  });
  await response.body?.cancel();
  if (response.status >= 400)
    throw new Error(`the schema registry at ${base.host} answers with status ${response.status}`);
}

/** fetch hides the reason one level down. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
