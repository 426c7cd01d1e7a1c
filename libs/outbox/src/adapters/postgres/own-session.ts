/**
 * A connection whose session is ours alone. A pooler in transaction mode lends the server's sessions out anew with every
 * transaction: what is set or listened to in one meets somebody else, and whoever answers now need not have lived since
 * the snapshot.
 */
import { randomUUID } from 'node:crypto';
import { codeOf, ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import { Client, type ClientBase, type ClientConfig } from 'pg';
import { POOLER_PROBE_MS } from '../../limits.ts';
import { quoteIdentifier } from '../../quoting.ts';

/**
 * Throws POOLED_CONNECTION (`config`) for one that is shared. The server tells a new connection which of its processes
 * serves it, and a pooler tells something of its own: only then is it worth a closer look.
 */
export async function checkOwnSession(client: ClientBase, config: ClientConfig, address: string): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('select pg_catalog.pg_backend_pid() as pid');
  const told: unknown = 'processID' in client ? client.processID : undefined;
  if (rows[0]?.pid === told || (await hearsOthers(client, config))) return;
  throw new TidemarkError({
    code: 'POOLED_CONNECTION',
    class: ErrorClass.config,
    message: `Postgres at ${address}: a pooler lends this connection a session of the server for one transaction at a time, and the relay needs one of its own. ${POOLER_ADVICE}`,
  });
}

export const POOLER_ADVICE =
  'Set TIDEMARK_POSTGRES to the address of the server itself, or of a pool in session mode; applications may stay with the pooler';

const READ_ONLY = '25006';

/** An idle client of a pooler in transaction mode has no session at the server, so nothing can reach it. */
async function hearsOthers(client: ClientBase, config: ClientConfig): Promise<boolean> {
  const channel = `tidemark.probe.${randomUUID()}`;
  const heard = Promise.withResolvers<true>();
  const listener = (message: { readonly channel: string }): void => {
    if (message.channel === channel) heard.resolve(true);
  };
  client.on('notification', listener);
  const other = new Client(config);
  other.on('error', () => {});
  const given = new AbortController();
  try {
    await client.query(`listen ${quoteIdentifier(channel)}`);
    await other.connect();
    await other.query('select pg_catalog.pg_notify($1, $2)', [channel, '']);
    return await Promise.race([heard.promise, sleep(POOLER_PROBE_MS, given.signal).then(() => false)]);
  } catch (error) {
    // A standby, where nobody listens: it is refused for what it is.
    if (codeOf(error) === READ_ONLY) return true;
    throw error;
  } finally {
    given.abort();
    client.off('notification', listener);
    await other.end().catch(() => {});
    await client.query(`unlisten ${quoteIdentifier(channel)}`).catch(() => {});
  }
}
