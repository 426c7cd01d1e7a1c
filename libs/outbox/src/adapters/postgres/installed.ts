/** Is the outbox there, may this role read it, and does it have what the protocol rests on? */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { ClientBase } from 'pg';
import { quoteIdentifier } from '../../quoting.ts';
import { LATEST_VERSION } from './migrations.ts';
import { Purpose, requireRights } from './rights.ts';

export async function checkInstalled(client: ClientBase, namespace: string): Promise<void> {
  const schema = quoteIdentifier(namespace);
  await requireRights(client, namespace, Purpose.read);
  const { rows } = await client.query<{ version: number | null }>(
    `select max(version) as version from ${schema}.migrations`,
  );
  const fault = faultOfVersion(rows[0]?.version ?? null) ?? (await faultOfTables(client, namespace));
  if (fault === undefined) return;
  throw new TidemarkError({
    code: 'OUTBOX_UNFIT',
    class: ErrorClass.config,
    message: `the outbox cannot be read safely: ${fault}`,
  });
}

function faultOfVersion(version: number | null): string | undefined {
  if (version === null) return 'it was never installed';
  if (version < LATEST_VERSION)
    return `it is at version ${version}, this program needs ${LATEST_VERSION}; run "tidemark outbox install"`;
  if (version > LATEST_VERSION)
    return `it is at version ${version}, this program knows up to ${LATEST_VERSION}; update the relay`;
  return undefined;
}

/** As the migrations made them: name, type, and the default that makes a row what it is. */
const COLUMNS: Readonly<
  Record<string, { readonly type: string; readonly default?: string; readonly nullable?: true }>
> = {
  position: { type: 'bigint', default: 'generated always as identity' },
  txid: { type: 'xid8', default: 'pg_current_xact_id()' },
  id: { type: 'uuid', default: 'gen_random_uuid()' },
  topic: { type: 'text' },
  key: { type: 'text' },
  type: { type: 'text' },
  payload: { type: 'jsonb', nullable: true },
  headers: { type: 'jsonb', default: `'{}'::jsonb` },
  occurred_at: { type: 'timestamp with time zone', default: 'clock_timestamp()' },
};

const TABLES = ['outbox', 'relays', 'relay_sleep', 'relay_retries', 'captures', 'bootstraps'];
/** Dropped with CASCADE, each takes its triggers along: from then on nothing is told of any table, or TRUNCATE is not refused. */
const TRIGGER_FUNCTIONS = ['capture', 'refuse_truncate', 'wake_relay'];

interface TableRow {
  readonly tables: readonly string[];
  readonly functions: readonly string[];
  readonly is_logged: boolean | null;
  readonly has_policies: boolean | null;
  readonly has_rules: boolean | null;
  readonly cache: string | null;
  readonly increment: string | null;
  readonly cycles: boolean | null;
  readonly has_key: boolean;
  readonly has_index: boolean;
}

interface ColumnRow {
  readonly name: string;
  readonly type: string;
  readonly is_required: boolean;
  readonly default: string;
}

async function faultOfTables(client: ClientBase, namespace: string): Promise<string | undefined> {
  const schema = quoteIdentifier(namespace);
  const { rows } = await client.query<TableRow>(TABLES_AND_INDEXES, [namespace]);
  const row = rows[0];
  if (row === undefined) return 'its schema is gone';
  const table = TABLES.find((name) => !row.tables.includes(name));
  if (table !== undefined) return `its table ${schema}.${table} is missing; ${RESTORE}`;
  const lost = TRIGGER_FUNCTIONS.find((name) => !row.functions.includes(name));
  if (lost !== undefined)
    return `its function ${schema}.${lost}() is missing, and with it every trigger that called it, so that changes may have passed untold; ${RESTORE}, and attach every captured table again`;
  const { rows: columns } = await client.query<ColumnRow>(COLUMNS_OF_OUTBOX, [namespace]);
  return faultOfColumns(schema, columns) ?? faultOf(schema, row);
}

const RESTORE = 'restore it as the migrations of this version made it';

function faultOfColumns(schema: string, columns: readonly ColumnRow[]): string | undefined {
  for (const [name, wanted] of Object.entries(COLUMNS)) {
    const found = columns.find((column) => column.name === name);
    const column = `column "${name}" of ${schema}.outbox`;
    if (found === undefined) return `${column} is missing; ${RESTORE}`;
    if (found.type !== wanted.type) return `${column} has type ${found.type} instead of ${wanted.type}; ${RESTORE}`;
    if (found.default !== (wanted.default ?? ''))
      return `${column} has ${found.default === '' ? 'no default' : `the default ${found.default}`} instead of ${wanted.default ?? 'none'}; ${RESTORE}`;
    if (!found.is_required && wanted.nullable !== true)
      return `${column} may be null; run "alter table ${schema}.outbox alter ${name} set not null"`;
  }
  return undefined;
}

function faultOf(schema: string, row: TableRow): string | undefined {
  if (row.is_logged !== true)
    return `table ${schema}.outbox is unlogged, so a crash empties it; run "alter table ${schema}.outbox set logged"`;
  if (row.has_policies === true)
    return `row level security is on for ${schema}.outbox, and could hide rows; run "alter table ${schema}.outbox disable row level security"`;
  if (row.has_rules === true) return `table ${schema}.outbox has rules, which could keep rows out of it; drop them`;
  if (row.cache !== '1') {
    return `its sequence outbox_position_seq has CACHE ${row.cache}, so a session may hand out an old position under a new lock; run "alter sequence ${schema}.outbox_position_seq cache 1" and let every session reconnect`;
  }
  if (row.increment !== '1' || row.cycles === true)
    return `its sequence outbox_position_seq must count up by 1 and not cycle; run "alter sequence ${schema}.outbox_position_seq increment 1 no cycle"`;
  if (!row.has_key)
    return `its primary key on position is missing; run "alter table ${schema}.outbox add primary key (position)"`;
  if (!row.has_index) return `its index on txid is missing; run "create index outbox_txid on ${schema}.outbox (txid)"`;
  return undefined;
}

/** $1 is the name of the schema. Nothing is cast to a name that could be missing: that would be an error of its own. */
const TABLES_AND_INDEXES = `
  with objects as (
    select c.* from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1
  ), outbox as (
    select * from objects where relname = 'outbox' and relkind = 'r'
  ), keys as (
    select i.*, a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indrelid = (select oid from outbox) and i.indisvalid
  ), sequence as (
    select s.* from pg_sequence s join objects c on c.oid = s.seqrelid and c.relname = 'outbox_position_seq'
  )
  select
    array(select relname::text from objects where relkind = 'r') as tables,
    array(select p.proname::text from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = $1) as functions,
    (select relpersistence = 'p' from outbox) as is_logged,
    (select relrowsecurity from outbox) as has_policies,
    (select relhasrules and exists (select from pg_rewrite r where r.ev_class = outbox.oid) from outbox) as has_rules,
    (select seqcache::text from sequence) as cache,
    (select seqincrement::text from sequence) as increment,
    (select seqcycle from sequence) as cycles,
    exists (select from keys where indisprimary and indnkeyatts = 1 and attname = 'position') as has_key,
    exists (select from keys where indpred is null and attname = 'txid') as has_index`;

const COLUMNS_OF_OUTBOX = `
  select a.attname::text as name, format_type(a.atttypid, null) as type, a.attnotnull as is_required,
    case when a.attidentity = 'a' then 'generated always as identity'
      else coalesce(pg_get_expr(d.adbin, d.adrelid), '') end as default
  from pg_attribute a
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attnum > 0 and not a.attisdropped
    and a.attrelid = (select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = 'outbox')`;
