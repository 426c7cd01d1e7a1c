/**
 * A state check: the row moves only when it is in the state that the event assumes. The check and the move are one
 * UPDATE, so of two owners that come at once one moves the row and the other finds it moved. (Conditional update, as in
 * compare-and-set; the row's lock makes the second one wait and look again.)
 */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { done, type Outcome, skip } from '../../handler.ts';
import { STATE_LOOKS_MAX } from '../../limits.ts';
import { keyEntries, quoted, quotedTable } from './names.ts';
import type { Queryable } from './queryable.ts';

export interface StateMove {
  /** `table` or `schema.table`. */
  readonly table: string;
  /** Columns that identify the row, and their values. */
  readonly key: Readonly<Record<string, unknown>>;
  readonly column: string;
  /** The state, or states, in which the row may be moved. */
  readonly is: string | readonly string[];
  readonly becomes: string;
  /** Further columns that change in the same statement. */
  readonly set?: Readonly<Record<string, unknown>>;
}

/**
 * `done()` when the row was moved; `skip('already <becomes>')` when it is there, also because this very event was handled
 * before; `skip('is <state>')` in any other state; `skip('not found')` without a row.
 * Throws TidemarkError `transient` (STATE_UNSTEADY) when others keep moving the row in between, and what the client throws.
 */
export async function whenState(sink: Queryable, move: StateMove): Promise<Outcome> {
  const { column, becomes } = move;
  const expected = typeof move.is === 'string' ? [move.is] : [...move.is];
  const key = keyEntries(move.table, move.key);
  const changes = Object.entries({ ...move.set, [column]: becomes });
  const values = [...key, ...changes].map(([, value]) => value);
  const table = quotedTable(move.table);
  const where = key.map(([name], place) => `${quoted(name)} = $${place + 1}`).join(' and ');
  const set = changes.map(([name], place) => `${quoted(name)} = $${key.length + place + 1}`).join(', ');
  const update = `update ${table} set ${set} where ${where} and ${quoted(column)} = any($${values.length + 1}) returning 1`;
  for (let look = 0; look < STATE_LOOKS_MAX; look++) {
    const moved = await sink.query(update, [...values, expected]);
    if (moved.rows.length > 0) return done();
    // Only now, with a snapshot that is younger than the wait for the row's lock.
    const found = await sink.query(
      `select ${quoted(column)}::text as state from ${table} where ${where}`,
      key.map(([, value]) => value),
    );
    const row = found.rows[0] as { readonly state: string | null } | undefined;
    if (row === undefined) return skip('not found');
    if (row.state === becomes) return skip(`already ${becomes}`);
    // Moved into the expected state between the two statements: the event's turn has come after all.
    if (row.state === null || !expected.includes(row.state)) return skip(`is ${row.state ?? 'null'}`);
  }
  throw new TidemarkError({
    code: 'STATE_UNSTEADY',
    class: ErrorClass.transient,
    message: `the state of a row of ${move.table} changed ${STATE_LOOKS_MAX} times while it was looked at`,
    context: { table: move.table },
  });
}
