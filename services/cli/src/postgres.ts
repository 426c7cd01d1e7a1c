import { assertReachable } from '@tidemark/control';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { addressOf } from '@tidemark/outbox/postgres';
import { Client, DatabaseError } from 'pg';
import type { Context } from './context.ts';
import { CONNECT_TIMEOUT_MS } from './limits.ts';

/** One connection for one command. What Postgres itself refuses is told in its own words. */
export async function withPostgres<T>(context: Context, work: (client: Client) => Promise<T>): Promise<T> {
  const url = context.effective.config.TIDEMARK_POSTGRES;
  await assertReachable([{ name: 'Postgres', addresses: [url], variable: 'TIDEMARK_POSTGRES' }]);
  const client = new Client({
    connectionString: url,
    application_name: 'tidemark-cli',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => {}); // the query that runs hears of it, too
  try {
    await client.connect();
  } catch (error) {
    throw new TidemarkError({
      code: 'POSTGRES_UNAVAILABLE',
      class: ErrorClass.unavailable,
      message: `Postgres at ${addressOf(url)} (TIDEMARK_POSTGRES) cannot be used: ${error instanceof Error ? error.message : String(error)}`,
      cause: error,
    });
  }
  try {
    return await work(client);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new TidemarkError({
      code: 'POSTGRES_REFUSED',
      class: ErrorClass.config,
      message: `Postgres: ${error.message}`,
      cause: error,
    });
  } finally {
    await client.end();
  }
}
