/** attach and detach with patience: many short waits for the table's lock instead of one long one that stops all writers. */
import { backoff, checkNamespace, codeOf, ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import type { Client, ClientBase } from 'pg';
import { ATTACH_ATTEMPTS_MAX, ATTACH_PAUSES } from '../../limits.ts';
import { quoteIdentifier } from '../../quoting.ts';
import { toTidemarkError } from './errors.ts';

export interface TableName {
  readonly namespace: string;
  /** As it stands in SQL, with quotes where it needs them: `orders`, `"Sales Ops"."Order-Lines"`. */
  readonly table: string;
}

export interface AttachOptions extends TableName {
  readonly topic: string;
  /** Default: the primary key. */
  readonly keyColumns?: readonly string[];
  /** Default: schema and table. */
  readonly eventType?: string;
  readonly appendOnly?: boolean;
}

/** The client must not be inside a transaction. Throws TidemarkError `config` for a table that cannot be captured. */
export async function attachTable(client: ClientBase, options: AttachOptions): Promise<void> {
  const { namespace, table, topic, keyColumns, eventType, appendOnly } = options;
  const schema = quoteIdentifier(checkNamespace(namespace));
  await requireTable(client, table);
  await patiently(client, `select ${schema}.attach($1::text::regclass, $2, $3::text[], $4, $5)`, [
    table,
    topic,
    keyColumns === undefined ? null : [...keyColumns],
    eventType ?? null,
    appendOnly ?? false,
  ]);
}

/** The client must not be inside a transaction. */
export async function detachTable(client: ClientBase, { namespace, table }: TableName): Promise<void> {
  const schema = quoteIdentifier(checkNamespace(namespace));
  await requireTable(client, table);
  await patiently(client, `select ${schema}.detach($1::text::regclass)`, [table]);
}

/**
 * Postgres says of a table that is not there only that it does not exist, and of one in an unknown schema the same as of
 * an outbox that is not installed. Nothing is locked, so a table that is dropped right after is found out by the next step.
 */
export async function requireTable(client: ClientBase, table: string): Promise<void> {
  const { rows } = await client.query<{ present: boolean; database: string; schemas: string }>(
    `select pg_catalog.to_regclass($1) is not null as present, pg_catalog.current_database() as database,
       pg_catalog.array_to_string(pg_catalog.current_schemas(false), ', ') as schemas`,
    [table],
  );
  const found = rows[0];
  if (found === undefined || found.present) return;
  throw new TidemarkError({
    code: 'NO_SUCH_TABLE',
    class: ErrorClass.config,
    message: `no table ${table} in database "${found.database}" (schemas that are searched: ${found.schemas}); write it as schema.table, or connect to the database that has it (TIDEMARK_POSTGRES)`,
  });
}

const LOCK_NOT_AVAILABLE = '55P03';
const TRANSACTION_FAILED = '25P02';

/** Refusals of the SQL functions that a person must act upon. */
const REFUSALS: Readonly<Record<string, string>> = {
  '42P16': 'KEY_UNFIT', // no primary key, or a key that is not unique
  '42703': 'NO_SUCH_COLUMN',
  '42P01': 'NO_SUCH_TABLE',
  '42809': 'NOT_A_TABLE',
  '42704': 'NOT_ATTACHED',
  '42501': 'NO_PRIVILEGE',
  '22023': 'BAD_ARGUMENT',
  '23505': 'TOPIC_TAKEN',
  '25001': 'INSIDE_A_TRANSACTION',
  '55000': 'CAPTURE_CHANGED',
  '3F000': 'OUTBOX_NOT_INSTALLED',
};

async function patiently(client: ClientBase, sql: string, values: readonly unknown[]): Promise<void> {
  let busy: unknown;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query(sql, [...values]);
      return;
    } catch (error) {
      // Inside a caller's transaction the first failure ends it, and the second try only says so.
      if (codeOf(error) === TRANSACTION_FAILED && busy !== undefined) throw toBusy(busy, 1);
      if (codeOf(error) !== LOCK_NOT_AVAILABLE) throw toRefusal(error);
      busy = error;
      if (attempt === ATTACH_ATTEMPTS_MAX) throw toBusy(error, attempt);
      // Jitter, so that two who wait for each other's table do not meet again at the same time.
      await sleep(backoff({ ...ATTACH_PAUSES, attempt, random: Math.random }));
    }
  }
}

/** As it was, when it is no refusal. */
export function toRefusal(error: unknown): unknown {
  const code = REFUSALS[codeOf(error) ?? ''];
  if (code === undefined || !(error instanceof Error)) return error;
  const hint = 'hint' in error && typeof error.hint === 'string' ? `. ${error.hint}` : '';
  return new TidemarkError({ code, class: ErrorClass.config, message: `${error.message}${hint}`, cause: error });
}

function toBusy(error: unknown, attempts: number): TidemarkError {
  const message = error instanceof Error ? error.message : String(error);
  return new TidemarkError({
    code: 'TABLE_BUSY',
    class: ErrorClass.unavailable,
    message: `${message} (tried ${attempts} times)`,
    cause: error,
  });
}

/** For those who need the server's name in the message: a person who looks at several of them. */
export async function asTidemark<Result>(client: Client, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw toTidemarkError(error, `${client.host}:${client.port}/${client.database ?? ''}`);
  }
}
