/** Installing, granting, removing. Run by the owner of the outbox, whose rights the SQL functions then use. */
import { checkNamespace } from '@tidemark/keyspace';
import type { ClientBase } from 'pg';
import { quoteIdentifier } from '../../quoting.ts';
import { detachTable } from './attach.ts';
import { migrationsFor } from './migrations.ts';
import { relayGrants } from './rights.ts';

export interface Installation {
  readonly namespace: string;
}

/** Brings the schema to the newest version; safe to repeat and to run from several places at once. Returns what it applied. */
export async function installOutbox(client: ClientBase, { namespace }: Installation): Promise<readonly string[]> {
  const migrations = migrationsFor(namespace);
  const schema = quoteIdentifier(namespace);
  const applied: string[] = [];
  await inTransaction(client, async () => {
    await client.query('set local search_path = pg_catalog, pg_temp');
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`tidemark install ${namespace}`]);
    // The same statement twice is not an error, but "create if not exists" wants the right to create even when it exists.
    const { rows } = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [
      `${schema}.migrations`,
    ]);
    if (rows[0]?.exists !== true) {
      await client.query(`create schema if not exists ${schema}`);
      await client.query(
        `create table ${schema}.migrations (version int primary key, name text not null, applied_at timestamptz not null default now())`,
      );
    }
    const { rows: known } = await client.query<{ version: number }>(`select version from ${schema}.migrations`);
    const done = new Set(known.map((row) => row.version));
    for (const migration of migrations.filter(({ version }) => !done.has(version))) {
      await client.query(migration.sql);
      await client.query(`insert into ${schema}.migrations (version, name) values ($1, $2)`, [
        migration.version,
        migration.name,
      ]);
      applied.push(migration.name);
    }
  });
  return applied;
}

export const Permission = { publish: 'publish', requestJob: 'requestJob', relay: 'relay' } as const;
export type Permission = (typeof Permission)[keyof typeof Permission];

const FUNCTIONS: Readonly<Record<Exclude<Permission, 'relay'>, string>> = {
  publish: 'publish(text, text, text, jsonb, jsonb, boolean)',
  requestJob: 'request_job(jsonb)',
};

/** Lets a role call one of the functions, without a right on any table of the outbox; or run the relay. */
export async function grantOutbox(
  client: ClientBase,
  { namespace, role, permission }: Installation & { readonly role: string; readonly permission: Permission },
): Promise<void> {
  const schema = quoteIdentifier(checkNamespace(namespace));
  if (permission === Permission.relay) {
    await client.query(relayGrants(namespace, role).join('; '));
    return;
  }
  await client.query(`grant usage on schema ${schema} to ${quoteIdentifier(role)}`);
  await client.query(`grant execute on function ${schema}.${FUNCTIONS[permission]} to ${quoteIdentifier(role)}`);
}

/** Detaches every table and drops the schema with everything that was not published yet. */
export async function uninstallOutbox(client: ClientBase, { namespace }: Installation): Promise<void> {
  const schema = quoteIdentifier(checkNamespace(namespace));
  const { rows: found } = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [
    `${schema}.captures`,
  ]);
  if (found[0]?.exists === true) {
    const { rows } = await client.query<{ target: string }>(`
      select format('%I.%I', n.nspname, c.relname) as target
      from ${schema}.captures join pg_class c on c.oid = target join pg_namespace n on n.oid = c.relnamespace`);
    for (const { target } of rows) await detachTable(client, { namespace, table: target });
  }
  await client.query(`drop schema if exists ${schema} cascade`);
}

async function inTransaction(client: ClientBase, work: () => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    await work();
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}
