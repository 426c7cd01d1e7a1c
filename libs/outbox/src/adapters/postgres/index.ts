/** The outbox in Postgres. */
import type { Outbox } from '../../ports.ts';
import { type DatabaseOptions, openDatabase, openSession, PATIENCE, type Patience } from './database.ts';
import { createPostgresHints } from './hints.ts';
import { createPostgresLease } from './lease.ts';
import { relayQueries } from './queries.ts';
import { createPostgresReader } from './reader.ts';

export { type AttachOptions, attachTable, detachTable, type TableName } from './attach.ts';
export { type AttachedTable, listAttached } from './attached.ts';
export { type BootstrapOptions, bootstrapTable } from './bootstrap.ts';
export { addressOf, type Patience } from './database.ts';
export { grantOutbox, type Installation, installOutbox, Permission, uninstallOutbox } from './install.ts';
export { migrationsFor as outboxMigrations } from './migrations.ts';
export { type JobRequest, type OutboxEvent, publish, requestJob } from './publish.ts';
export { openRebaseStore, type RebaseStoreOptions } from './rebase.ts';

export interface PostgresOutboxOptions {
  readonly url: string;
  readonly namespace: string;
  readonly relay: string;
  /** Unique to the process. */
  readonly owner: string;
  /** Default: that of the limits. */
  readonly patience?: Patience;
}

/** Connects nothing before it is asked something. */
export function openPostgresOutbox({
  url,
  namespace,
  relay,
  owner,
  patience = PATIENCE,
}: PostgresOutboxOptions): Outbox {
  const options: DatabaseOptions = { url, applicationName: `${namespace}.relay.${relay}`, patience };
  const queries = relayQueries(namespace);
  const database = openDatabase(options);
  const session = openSession({ ...options, applicationName: `${options.applicationName} reader` });
  const hints = createPostgresHints(database, queries, options);
  return {
    reader: createPostgresReader(database, session, queries),
    lease: createPostgresLease(database, queries, { namespace, relay, owner, answerMs: patience.shortAnswerMs }),
    hints,
    async close() {
      await hints.close();
      await session.close();
      await database.close();
    },
  };
}
