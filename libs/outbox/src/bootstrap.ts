/** Bootstrap of a table's older rows: how far it is, and how fast it may go. */
import { BOOTSTRAP_CHUNK_MS_MAX } from './limits.ts';

export interface Bootstrap {
  /** As it stands in SQL. */
  readonly table: string;
  readonly rowsTold: bigint;
  /** By the statistics of the table at the start; null without. */
  readonly rowsEstimated: bigint | null;
  readonly chunks: bigint;
  readonly startedAtMs: number;
  /** Of the last chunk. */
  readonly updatedAtMs: number;
  readonly finishedAtMs: number | null;
  /** The table was attached again since, or detached: it must begin anew. */
  readonly isOutdated: boolean;
}

/**
 * How many rows may be told before the backlog is asked for again. It stops at the bound and goes on at half of it, so
 * that a slow relay is not fed row by row.
 */
export function rowsAllowed({
  backlogRows,
  backlogRowsMax,
}: {
  readonly backlogRows: number;
  readonly backlogRowsMax: number;
}): number {
  return backlogRows <= backlogRowsMax / 2 ? backlogRowsMax - backlogRows : 0;
}

/** Null: a lock was not to be had. */
export interface ChunkRun {
  readonly rows: number;
  readonly tookMs: number | null;
}

/**
 * The rows of the next chunk. Its locks make writers wait, so it is cut when it takes long; and sharply when a row was
 * locked, so that in a few steps only that row is waited for, and no other lock held meanwhile.
 */
export function nextChunkRows({ rows, tookMs }: ChunkRun, rowsMax: number): number {
  if (tookMs === null) return Math.max(1, Math.floor(rows / 4));
  if (tookMs > BOOTSTRAP_CHUNK_MS_MAX) return Math.max(1, Math.floor(rows / 2));
  return tookMs < BOOTSTRAP_CHUNK_MS_MAX / 2 ? Math.min(rowsMax, rows * 2) : rows;
}
