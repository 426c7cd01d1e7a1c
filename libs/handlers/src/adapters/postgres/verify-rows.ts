/** What a `verify` answers when the effect of a record is a row: as often as its key is in the table. */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { duplicate, missing, noneDue, present, type Verdict } from '../../verify.ts';
import { keyEntries, quoted, quotedTable } from './names.ts';
import type { Queryable } from './queryable.ts';
import { PLACE, type Row, rowsAsJson } from './rows-as-json.ts';

export interface RowKeys {
  /** `table` or `schema.table`. */
  readonly table: string;
  /** One for each record: the key columns of its row, the same columns for all, or null for a record that needs no row. */
  readonly keys: readonly (Row | null)[];
}

const NO_ROW_DUE = noneDue('no row due');

/**
 * One verdict for each record, in one statement; an index on the key columns makes it quick. Keys are read by the types of
 * the table's columns, as by `insertEachOnce`.
 *
 * Throws TidemarkError `data` for a key column without a value (KEY_WITHOUT_VALUE) and for a number or Date that is none
 * (NOT_A_NUMBER), `config` for a key without columns (NO_KEY) or with others than the first (OTHER_COLUMNS), and what the
 * client throws.
 */
export async function verifyRows(sink: Queryable, { table, keys }: RowKeys): Promise<readonly Verdict[]> {
  const asked = keys.filter((key) => key !== null);
  const [first] = asked;
  if (first === undefined) return keys.map(() => NO_ROW_DUE);
  const columns = Object.keys(first);
  for (const key of asked) {
    const values = new Map<string, unknown>(Object.entries(key));
    const other = [...values.keys()].find((column) => !columns.includes(column));
    if (other !== undefined) throw otherColumns(table, columns, other);
    keyEntries(table, Object.fromEntries(columns.map((column) => [column, values.get(column)])));
  }
  const { rows } = await sink.query(statementFor(table, columns), [rowsAsJson(asked)]);
  const counts = (rows as readonly { readonly count: string }[]).map(({ count }) => Number(count));
  let place = 0;
  return keys.map((key) => (key === null ? NO_ROW_DUE : verdictOf(counts[place++] ?? 0)));
}

function otherColumns(table: string, columns: readonly string[], other: string): TidemarkError {
  return new TidemarkError({
    code: 'OTHER_COLUMNS',
    class: ErrorClass.config,
    message: `the first key of ${table} has the columns ${columns.join(', ')}, another one ${other}: give all keys the same`,
    context: { table, column: other },
  });
}

function verdictOf(count: number): Verdict {
  if (count === 0) return missing();
  return count === 1 ? present() : duplicate(count);
}

function statementFor(table: string, columns: readonly string[]): string {
  const name = quotedTable(table);
  const isHeld = columns.map((column) => `held.${quoted(column)} = given.${quoted(column)}`).join(' and ');
  return `with given as materialized (
       select record.*, ${PLACE}::int from json_array_elements($1::json) with ordinality as item(content, ${PLACE}),
              lateral json_populate_record(null::${name}, content) as record
     )
     select (select count(*)::text from ${name} as held where ${isHeld}) as count from given order by ${PLACE}`;
}
