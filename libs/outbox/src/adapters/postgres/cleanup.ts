/**
 * Removing rows that are published. Vacuum frees what is removed only when no snapshot is left that may see it; till then
 * every scan from the beginning would pass all of it. So nothing here begins at the beginning: a window is found by the
 * index on txid. One of more than a batch goes on by position, from the lowest that the first batch has found to its last,
 * and is then looked for by txid again: what is left has lower positions, of transactions that took long.
 */
import type { ClientBase } from 'pg';
import { CLEANUP_ROWS_MAX } from '../../limits.ts';
import type { CleanedUp, KeyTail } from '../../ports.ts';
import type { SnapshotWindow } from '../../snapshot.ts';
import { oneOf } from './one-row.ts';
import type { Queries } from './queries.ts';

interface RemovedRow {
  readonly rows: number;
  readonly lowest: string | null;
  readonly highest: string | null;
}

export async function cleanUp(
  client: ClientBase,
  queries: Queries,
  {
    window,
    spared,
    goOnAt,
  }: {
    readonly window: SnapshotWindow;
    readonly spared: readonly KeyTail[];
    readonly goOnAt: bigint | undefined;
  },
): Promise<CleanedUp> {
  let before = 0;
  if (goOnAt !== undefined) {
    const { rows, highest } = await oneOf<RemovedRow>(client, queries.cleanupFrom(window, spared, goOnAt));
    if (rows === CLEANUP_ROWS_MAX && highest !== null) return { rows, goOnAt: BigInt(highest) + 1n };
    before = rows;
  }
  const { rows, lowest } = await oneOf<RemovedRow>(client, queries.cleanupFirst(window, spared));
  const isAll = rows < CLEANUP_ROWS_MAX || lowest === null;
  return { rows: before + rows, goOnAt: isAll ? undefined : BigInt(lowest) };
}
