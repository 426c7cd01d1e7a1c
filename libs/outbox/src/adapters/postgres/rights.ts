/** What a role must be allowed to do to run the relay: named when it is missing, and granted by `grantOutbox`. */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { ClientBase } from 'pg';
import { quoteIdentifier } from '../../quoting.ts';

type Kind = 'table' | 'sequence' | 'function';

interface Rights {
  readonly kind: Kind;
  readonly name: string;
  readonly arguments?: string;
  readonly privileges: readonly string[];
}

const RELAY_RIGHTS: readonly Rights[] = [
  { kind: 'table', name: 'outbox', privileges: ['select', 'delete'] },
  { kind: 'sequence', name: 'outbox_position_seq', privileges: ['select'] },
  { kind: 'table', name: 'relays', privileges: ['select', 'insert', 'update'] },
  { kind: 'table', name: 'relay_sleep', privileges: ['select', 'insert', 'update'] },
  { kind: 'table', name: 'relay_retries', privileges: ['select', 'insert', 'delete'] },
  { kind: 'table', name: 'migrations', privileges: ['select'] },
  { kind: 'table', name: 'captures', privileges: ['select'] },
  { kind: 'table', name: 'bootstraps', privileges: ['select'] },
  { kind: 'function', name: 'unguarded_partitions', arguments: '()', privileges: ['execute'] },
  { kind: 'function', name: 'untold_tables', arguments: '()', privileges: ['execute'] },
  { kind: 'function', name: 'guard_truncate', arguments: '(regclass)', privileges: ['execute'] },
];

function grantOf(schema: string, { kind, name, arguments: types = '' }: Rights, privileges: readonly string[]): string {
  const on = kind === 'table' ? '' : `${kind} `;
  return `grant ${privileges.join(', ')} on ${on}${schema}.${name}${types}`;
}

/** The statements that allow a role everything a relay does; the name of the role stands last. */
export function relayGrants(namespace: string, role: string): readonly string[] {
  const schema = quoteIdentifier(namespace);
  const grants = [`grant usage on schema ${schema}`].concat(
    RELAY_RIGHTS.map((rights) => grantOf(schema, rights, rights.privileges)),
  );
  return grants.map((grant) => `${grant} to ${quoteIdentifier(role)}`);
}

export const Purpose = { read: 'read', run: 'run' } as const;
export type Purpose = (typeof Purpose)[keyof typeof Purpose];

const NEEDED_FOR: Readonly<Record<Purpose, string>> = { read: 'look at', run: 'run the relay of' };

/** Asked of the catalog, which everybody may read: without USAGE on the schema nothing in it can be named. */
export async function requireRights(client: ClientBase, namespace: string, purpose: Purpose): Promise<void> {
  const { rows } = await client.query<{ role: string; owner: string; usable: boolean }>(
    `select current_user as role, pg_get_userbyid(nspowner) as owner, has_schema_privilege(oid, 'usage') as usable
     from pg_namespace where nspname = $1`,
    [namespace],
  );
  const schema = rows[0];
  // Not there at all: the next question says so.
  if (schema === undefined) return;
  const { role, owner } = schema;
  const grants = await missingGrants(client, namespace, purpose);
  if (!schema.usable) grants.unshift(`grant usage on schema ${quoteIdentifier(namespace)}`);
  if (grants.length === 0) return;
  throw new TidemarkError({
    code: 'RIGHTS_MISSING',
    class: ErrorClass.config,
    message: `role "${role}" may not ${NEEDED_FOR[purpose]} outbox "${namespace}". Its owner (role "${owner}") must run: ${grants.map((grant) => `${grant} to ${quoteIdentifier(role)};`).join(' ')}`,
    context: { role, owner },
  });
}

async function missingGrants(client: ClientBase, namespace: string, purpose: Purpose): Promise<string[]> {
  const wanted = RELAY_RIGHTS.flatMap(({ kind, name, privileges }) =>
    privileges
      .filter((privilege) => purpose === Purpose.run || privilege === 'select')
      .map((privilege) => ({ kind, name, privilege })),
  );
  const { rows } = await client.query<{ name: string; privileges: string[] }>(
    `select wanted.name, array_agg(wanted.privilege) as privileges
     from unnest($2::text[], $3::text[], $4::text[]) as wanted (kind, name, privilege)
     left join pg_class c on wanted.kind <> 'function' and c.relname = wanted.name
       and c.relnamespace = (select oid from pg_namespace where nspname = $1)
     left join pg_proc p on wanted.kind = 'function' and p.proname = wanted.name
       and p.pronamespace = (select oid from pg_namespace where nspname = $1)
     where not case wanted.kind when 'table' then has_table_privilege(c.oid, wanted.privilege)
       when 'sequence' then has_sequence_privilege(c.oid, wanted.privilege)
       else has_function_privilege(p.oid, wanted.privilege) end
     group by 1`,
    [
      namespace,
      wanted.map(({ kind }) => kind),
      wanted.map(({ name }) => name),
      wanted.map(({ privilege }) => privilege),
    ],
  );
  return RELAY_RIGHTS.flatMap((rights) => {
    const missing = rows.find(({ name }) => name === rights.name)?.privileges;
    if (missing === undefined) return [];
    return [
      grantOf(
        quoteIdentifier(namespace),
        rights,
        rights.privileges.filter((privilege) => missing.includes(privilege)),
      ),
    ];
  });
}
