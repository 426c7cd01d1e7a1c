/** A batch of rows as one parameter, read by the types of the table's columns: `json_populate_record`. */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';

/** Columns by name. */
export type Row = object;

/** Where a row stands in its batch, from 1 on, under a name that no column of a table has. */
export const PLACE = '"place in batch"';

/** bigint, Buffer (bytea) and Date keep their value. Throws TidemarkError `data` (NOT_A_NUMBER) for a number or Date that is none. */
export function rowsAsJson(rows: readonly Row[]): string {
  // Not with a replacer: it sees a Date only as the text that the Date makes of itself, and a Buffer as its bytes in a list.
  return JSON.stringify(
    rows.map((row) =>
      Object.fromEntries(Object.entries(row).map(([column, value]) => [column, valueAsJson(value, column)])),
    ),
    (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
  );
}

function valueAsJson(value: unknown, column: string): unknown {
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  const number = value instanceof Date ? value.getTime() : value;
  if (typeof number === 'number' && !Number.isFinite(number))
    throw new TidemarkError({
      code: 'NOT_A_NUMBER',
      class: ErrorClass.data,
      message: `${value} in column ${column} would become null`,
      context: { column },
    });
  return value;
}
