/** Names of tables and columns as they stand in SQL. */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';

/** Taken as it is, so capital letters count: Postgres keeps names that were created without quotes in lower case. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** `table` or `schema.table`, each part quoted. */
export function quotedTable(table: string): string {
  return table.split('.').map(quoted).join('.');
}

/**
 * Columns and what they hold. Throws TidemarkError `config` (NO_KEY) without a column, `data` (KEY_WITHOUT_VALUE) when one
 * holds null: null equals nothing, so it can neither find a row nor be the same a second time.
 */
export function keyEntries(
  table: string,
  key: Readonly<Record<string, unknown>>,
): readonly (readonly [string, unknown])[] {
  const entries = Object.entries(key);
  if (entries.length === 0)
    throw new TidemarkError({ code: 'NO_KEY', class: ErrorClass.config, message: `name the key columns of ${table}` });
  for (const [column, value] of entries) {
    if (value === null || value === undefined)
      throw new TidemarkError({
        code: 'KEY_WITHOUT_VALUE',
        class: ErrorClass.data,
        message: `the key column ${column} of ${table} has no value`,
        context: { table, column },
      });
  }
  return entries;
}
