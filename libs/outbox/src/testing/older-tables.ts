/** Tables that had rows before they were attached, in one outbox for a file of tests; each test cleans up behind itself. */
import { services, uniqueNamespace } from '@tidemark/testkit';
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll } from 'vitest';
import {
  type AttachOptions,
  attachTable,
  type BootstrapOptions,
  bootstrapTable,
  detachTable,
} from '../adapters/postgres/index.ts';
import { openTestOutbox, type TestOutbox } from './test-outbox.ts';

export interface OlderTable extends Pick<AttachOptions, 'keyColumns' | 'appendOnly' | 'eventType'> {
  /** As `create table` has them, and further statements; {table} and {schema} stand for the names. */
  readonly columns: string;
  readonly rows: string;
  readonly name?: string;
}

export interface ToldEvent {
  readonly key: string;
  readonly type: string;
  readonly payload: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** To be called once, outside of tests. */
export function useOlderTables() {
  let outbox: TestOutbox;
  let sessions: Client[] = [];
  let tables: string[] = [];

  beforeAll(async () => {
    outbox = await openTestOutbox({ url: services().postgres, namespace: uniqueNamespace('bootstrap') });
  });

  afterAll(() => outbox.drop());

  afterEach(async () => {
    const { schema, client, namespace } = outbox;
    // What a failed test has left open would hold its table.
    for (const session of sessions) await session.end();
    sessions = [];
    const { rows } = await client.query<{ target: string }>(`select target::text from ${schema}.captures`);
    for (const { target } of rows) await detachTable(client, { namespace, table: target });
    for (const table of tables) await client.query(`drop table ${table} cascade`);
    tables = [];
    await client.query(`delete from ${schema}.outbox`);
  });

  async function connect(): Promise<Client> {
    const session = await outbox.connect();
    sessions.push(session);
    return session;
  }

  return {
    outbox: (): TestOutbox => outbox,
    /** A session that ends with the test. */
    connect,
    /** Attached to topic `t`. `worker` is the session of the bootstrap, `pid` its number. */
    async open({ columns, rows, name = 't', ...wish }: OlderTable) {
      const { namespace, client, schema } = outbox;
      const table = `${schema}.${name}`;
      await client.query(
        `create table ${table} ${columns.replaceAll('{table}', table).replaceAll('{schema}', schema)}`,
      );
      tables.push(table);
      await client.query(`insert into ${table} ${rows}`);
      const attach = () => attachTable(client, { namespace, table, topic: 't', ...wish });
      await attach();
      const worker = await connect();
      const bootstrap = (more: Partial<BootstrapOptions> = {}) => bootstrapTable(worker, { namespace, table, ...more });
      const { rows: own } = await worker.query<{ pid: number }>('select pg_backend_pid() as pid');
      return { table, attach, worker, pid: own[0]?.pid ?? 0, bootstrap };
    },
    /** In the order of position. */
    async events(): Promise<readonly ToldEvent[]> {
      const { rows } = await outbox.client.query<ToldEvent>(
        `select key, type, payload::text as payload, headers from ${outbox.schema}.outbox where topic = 't' order by position`,
      );
      return rows;
    },
  };
}
