/**
 * The snapshot that ends a window, and with it, where little was written since the last one, the window's rows and how
 * far the log is flushed: one round trip where each alone takes one, and a row waits for all of them.
 *
 * All statements of a REPEATABLE READ transaction see one snapshot, and the first of them names it. So the rows that the
 * second one finds, of transactions that the older snapshot does not see, are the window. The flush is asked for behind
 * them, on the connection that took the snapshot, as it must be.
 */
import type { ClientBase, QueryResult } from 'pg';
import { SORTED_WINDOW_ROWS_MAX } from '../../limits.ts';
import type { Lsn } from '../../lsn.ts';
import type { Snapshot } from '../../snapshot.ts';
import type { RawRow } from './page.ts';
import type { Queries } from './queries.ts';

export interface OpenedWindow<SnapshotRow> {
  readonly row: SnapshotRow;
  /** Undefined when there may be more. */
  readonly rows: readonly RawRow[] | undefined;
  /** Undefined on a standby. */
  readonly flushLsn: Lsn | undefined;
}

interface EndRow {
  readonly flush_lsn: string | null;
  readonly last_position: string;
}

/** `positionBefore`: where the older window ended. */
export async function openWindow<SnapshotRow extends object>(
  client: ClientBase,
  queries: Queries,
  {
    after,
    positionBefore,
    rowsMax,
  }: { readonly after: Snapshot; readonly positionBefore: bigint; readonly rowsMax: number },
): Promise<OpenedWindow<SnapshotRow>> {
  const positionMax = positionBefore + BigInt(SORTED_WINDOW_ROWS_MAX);
  const statements = queries.takeSnapshotAndRows(after, { positionMax, rowsMax });
  const results = (await client.query(statements)) as unknown as readonly QueryResult[];
  const [[row], [end]] = results.filter(({ command }) => command === 'SELECT').map(({ rows }) => rows) as [
    SnapshotRow[],
    EndRow[],
  ];
  const rows = results.find(({ command }) => command === 'FETCH')?.rows as RawRow[] | undefined;
  if (row === undefined || end === undefined || rows === undefined)
    throw new Error('a window opened without an answer');
  // The statement finds nothing when more was drawn. What was drawn by the end bounds what was drawn when it looked.
  const isWhole = BigInt(end.last_position) <= positionMax && rows.length < rowsMax;
  return { row, rows: isWhole ? rows : undefined, flushLsn: end.flush_lsn ?? undefined };
}
