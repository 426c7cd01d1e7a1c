/**
 * The database's side of a rebase. One transaction takes a snapshot while it has no id of its own, removes the rows that
 * are published, and gives all others its id: so they are invisible in that snapshot and become visible together,
 * whatever cluster they came from. They keep their positions, so that inside the window that they fall into the order of
 * a key is the old one, and rows that were written since follow. Nothing is locked against writers: what commits later is
 * invisible in the snapshot by itself.
 */
import { checkNamespace, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { Client } from 'pg';
import { REBASE_PAGE_ROWS } from '../../limits.ts';
import type { RebaseStore } from '../../ports.ts';
import type { TakenSnapshot } from '../../position.ts';
import { quoteIdentifier } from '../../quoting.ts';
import type { RebaseRow } from '../../rebase.ts';
import { parseSnapshot } from '../../snapshot.ts';
import {
  abandon,
  addressOf,
  clientConfig,
  type DatabaseOptions,
  ignoreLostConnection,
  openDatabase,
} from './database.ts';
import { toTidemarkError } from './errors.ts';
import { one } from './one-row.ts';

export interface RebaseStoreOptions {
  readonly url: string;
  readonly namespace: string;
  readonly relay: string;
  /** As the lease knows it. */
  readonly owner: string;
}

/** Connects nothing before it is asked something. */
export function openRebaseStore({ url, namespace, relay, owner }: RebaseStoreOptions): RebaseStore {
  const options: DatabaseOptions = { url, applicationName: `${namespace}.relay.${relay} rebase` };
  const queries = rebaseQueries(namespace);
  const database = openDatabase(options);
  return {
    witness: () =>
      database.use(async (client) => {
        const { rows } = await client.query<{ published: string | null }>(queries.witness, [relay]);
        const text = rows[0]?.published ?? null;
        return text === null ? undefined : parseSnapshot(text);
      }),
    rows: (after) =>
      database.use(async (client) => {
        const { rows } = await client.query<RawRow>(queries.rows, [after, REBASE_PAGE_ROWS]);
        return rows.map(toRow);
      }),
    endLease: () => database.use(async (client) => void (await client.query(queries.endLease, [relay, owner]))),
    settle: (published) => settle(options, queries, { relay, owner, published }),
    close: () => database.close(),
  };
}

interface RawRow {
  readonly position: string;
  readonly id: string;
  readonly topic: string;
  readonly key: string;
  readonly occurred_at_ms: string;
}

function toRow({ position, id, topic, key, occurred_at_ms }: RawRow): RebaseRow {
  return { position: BigInt(position), id, topic, key, occurredAtMs: BigInt(occurred_at_ms) };
}

interface TakenRow {
  readonly snapshot: string;
  readonly wal_insert_lsn: string;
  readonly timeline_hex: string;
  readonly system_identifier: string;
}

async function settle(
  options: DatabaseOptions,
  queries: ReturnType<typeof rebaseQueries>,
  {
    relay,
    owner,
    published,
  }: { readonly relay: string; readonly owner: string; readonly published: readonly bigint[] },
): Promise<TakenSnapshot> {
  // Its statements may be long, and it is the only one that writes: no limit of the relay's connections is meant for it.
  const client = new Client({ ...clientConfig(options), statement_timeout: 0, query_timeout: 0 });
  client.on('error', ignoreLostConnection);
  try {
    await client.connect();
    await client.query('begin isolation level read committed; set local synchronous_commit = on');
    const row = await one<TakenRow>(client, queries.takeSnapshot);
    for (let i = 0; i < published.length; i += REBASE_PAGE_ROWS)
      await client.query(queries.remove, [published.slice(i, i + REBASE_PAGE_ROWS)]);
    await client.query(queries.redraw);
    const { rowCount } = await client.query(queries.record, [relay, owner, row.snapshot]);
    if (rowCount !== 1) throw leaseLost(relay);
    await client.query('commit');
    return {
      snapshot: parseSnapshot(row.snapshot),
      walInsertLsn: row.wal_insert_lsn,
      identity: { systemIdentifier: row.system_identifier, timeline: Number.parseInt(row.timeline_hex, 16) },
    };
  } catch (error) {
    throw toTidemarkError(error, addressOf(options.url));
  } finally {
    abandon(client);
  }
}

function leaseLost(relay: string): TidemarkError {
  return new TidemarkError({
    code: 'LEASE_LOST',
    class: ErrorClass.fenced,
    message: `somebody else took the lease of relay "${relay}" meanwhile: nothing was changed`,
  });
}

function rebaseQueries(namespace: string) {
  const schema = quoteIdentifier(checkNamespace(namespace));
  return {
    witness: `select published::text as published from ${schema}.relays where name = $1`,
    rows: `
      select position::text as position, id::text as id, topic, key,
        floor(extract(epoch from occurred_at) * 1000)::bigint::text as occurred_at_ms
      from ${schema}.outbox where position > $1 order by outbox.position limit $2`,
    endLease: `update ${schema}.relays set expires_at = clock_timestamp() - interval '1 second' where name = $1 and owner <> $2`,
    takeSnapshot: `
      select pg_current_snapshot()::text as snapshot, pg_current_wal_insert_lsn()::text as wal_insert_lsn,
        left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) as timeline_hex,
        (select system_identifier::text from pg_control_system()) as system_identifier`,
    remove: `delete from ${schema}.outbox where position = any($1::bigint[])`,
    redraw: `update ${schema}.outbox set txid = pg_current_xact_id()`,
    // The witness comes along: whatever is older than this snapshot is refused from here on.
    record: `update ${schema}.relays set published = $3::pg_snapshot where name = $1 and owner = $2`,
  };
}
