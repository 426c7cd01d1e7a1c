/** The outbox of one relay, with Kafka, for one command. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { assertReachable } from '@tidemark/control';
import type { LogConnections } from '@tidemark/control/connect';
import type { Outbox, RebaseStore } from '@tidemark/outbox';
import { openPostgresOutbox, openRebaseStore } from '@tidemark/outbox/postgres';
import { type Context, withLog } from './context.ts';

export interface OutboxParts {
  readonly outbox: Outbox;
  readonly store: RebaseStore;
  readonly connections: LogConnections;
}

export async function withOutbox<T>(
  context: Context,
  relay: string,
  work: (parts: OutboxParts) => Promise<T>,
): Promise<T> {
  const { TIDEMARK_POSTGRES: url, TIDEMARK_NAMESPACE: namespace } = context.effective.config;
  return withLog(context, ['kafka', 'registry'], async (connections) => {
    await assertReachable([{ name: 'Postgres', addresses: [url], variable: 'TIDEMARK_POSTGRES' }]);
    const options = { url, namespace, relay, owner: `cli/${hostname()}/${process.pid}/${randomUUID()}` };
    const outbox = openPostgresOutbox(options);
    const store = openRebaseStore(options);
    try {
      return await work({ outbox, store, connections });
    } finally {
      await Promise.allSettled([outbox.close(), store.close()]);
    }
  });
}
