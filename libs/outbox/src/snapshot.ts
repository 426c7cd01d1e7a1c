/**
 * The algebra of `pg_snapshot`: which transactions became visible between two snapshots. The protocol that uses it is
 * explained in the README.
 */

export interface Snapshot {
  /** Every transaction below has ended. */
  readonly xmin: bigint;
  /** No transaction at or above had ended. */
  readonly xmax: bigint;
  /** Those between that were still running, ascending. */
  readonly running: readonly bigint[];
}

/** The snapshot that nothing is visible in: where an outbox that was never read begins. */
export const NOTHING_VISIBLE: Snapshot = { xmin: 1n, xmax: 1n, running: [] };

/** Reads `xmin:xmax:xip,xip`. Throws a RangeError for a text that Postgres could not have printed. */
export function parseSnapshot(text: string): Snapshot {
  const match = /^(\d+):(\d+):((?:\d+(?:,\d+)*)?)$/.exec(text);
  if (match === null) throw new RangeError(`not a snapshot: ${JSON.stringify(text)}`);
  const [, xminText = '', xmaxText = '', runningText = ''] = match;
  const snapshot = {
    xmin: BigInt(xminText),
    xmax: BigInt(xmaxText),
    running: runningText === '' ? [] : runningText.split(',').map(BigInt),
  };
  if (!isWellFormed(snapshot)) throw new RangeError(`not a snapshot: ${JSON.stringify(text)}`);
  return snapshot;
}

export function snapshotText(snapshot: Snapshot): string {
  return `${snapshot.xmin}:${snapshot.xmax}:${snapshot.running.join(',')}`;
}

function isWellFormed({ xmin, xmax, running }: Snapshot): boolean {
  const ascending = running.every((txid, i) => txid > (running[i - 1] ?? 0n));
  return xmin > 0n && xmax >= xmin && ascending && running.every((txid) => txid >= xmin && txid < xmax);
}

/** True when the transaction had ended, one way or the other, when the snapshot was taken. */
export function isVisibleIn(snapshot: Snapshot, txid: bigint): boolean {
  return txid < snapshot.xmax && !snapshot.running.includes(txid);
}

/**
 * True when the transaction ended between the two snapshots. The same condition in SQL finds the rows of a window by
 * the index on txid: everything from the older xmax up to the newer one, and what was running at the older.
 */
export function isInWindow(window: SnapshotWindow, txid: bigint): boolean {
  const candidate = (txid >= window.after.xmax && txid < window.upTo.xmax) || window.after.running.includes(txid);
  return candidate && isVisibleIn(window.upTo, txid);
}

/** What became visible after one snapshot, up to and with another. */
export interface SnapshotWindow {
  readonly after: Snapshot;
  readonly upTo: Snapshot;
}

/** True when `newer` cannot have been taken before `older`: every transaction that had ended stays ended. */
export function follows(older: Snapshot, newer: Snapshot): boolean {
  return newer.xmin >= older.xmin && newer.xmax >= older.xmax;
}
