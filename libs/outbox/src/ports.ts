/**
 * What the relay knows of the database. Every method throws TidemarkError `unavailable` when the database does not
 * answer (the caller tries again), and `config` when a person must change something.
 */
import type { Bootstrap } from './bootstrap.ts';
import type { DatabaseState } from './identity.ts';
import type { PublishedPlace, TakenSnapshot } from './position.ts';
import type { RebaseRow } from './rebase.ts';
import type { OutboxRow } from './row.ts';
import type { Snapshot, SnapshotWindow } from './snapshot.ts';

/** The rows of one key from a position on. */
export interface KeyTail {
  readonly topic: string;
  readonly key: string;
  readonly position: bigint;
}

/** Those of them below another position; null = all. */
export interface KeyPart extends KeyTail {
  readonly below: bigint | null;
}

/** Which keys are to be tried again; all of them where nothing is named. */
export interface RetryWish {
  readonly topic: string | null;
  readonly key: string | null;
}

export interface PageLimits {
  readonly rowsMax: number;
  /** Soft: the row that passes it is still in the page. */
  readonly bytesMax: number;
}

export interface CleanedUp {
  readonly rows: number;
  /** A position; undefined when nothing of the window is left to remove. */
  readonly goOnAt: bigint | undefined;
}

export interface Page {
  /** Rows of the window above the asked place, in position order. May be empty. */
  readonly rows: readonly OutboxRow[];
  /** Everything of the window up to and with this position has been delivered. */
  readonly place: bigint;
  readonly isLast: boolean;
}

/**
 * Reads windows between two snapshots. Duties of an adapter: the guards stand in the snapshot's own statement (a server
 * in recovery answers TidemarkError `config` STANDBY); no snapshot is held between calls; a page is the same whenever it
 * is read again, until `cleanup` was told that the window is published. Not its duty: to remember any position.
 */
export interface OutboxReader {
  /** Refuses an outbox whose sequence, keys or version would break the protocol: TidemarkError `config`. */
  checkInstalled(): Promise<void>;
  state(): Promise<DatabaseState>;
  /** `after`: the window from there is read next, so whatever is cheaply known of it may be found out along. */
  takeSnapshot(after?: Snapshot): Promise<TakenSnapshot>;
  readPage(window: SnapshotWindow, place: bigint, limits: PageLimits): Promise<Page>;
  /**
   * Resolves when a crash can no longer take back anything that the snapshot saw; nudges a quiet server. Nothing that
   * depends on the snapshot may be told before. Throws `transient` when that can no longer be known: take a new one.
   */
  flushed(taken: TakenSnapshot): Promise<void>;
  /**
   * Removes some rows of the window, but none of the spared tails. `goOnAt` is what the call before has answered. What
   * lies dead before the window is not looked at: while an old snapshot is held, nothing of it can go.
   */
  cleanup(window: SnapshotWindow, spared?: readonly KeyTail[], goOnAt?: bigint): Promise<CleanedUp>;
  /** A page of the rows of these keys at or below the published place, in position order. */
  readTails(published: PublishedPlace, tails: readonly KeyTail[], limits: PageLimits): Promise<Page>;
  /** How many rows of each key, in the order asked, wait at or below the published place. */
  countTails(published: PublishedPlace, tails: readonly KeyTail[]): Promise<readonly number[]>;
  /**
   * Removes, for good, the rows of these keys that are visible in the snapshot. All of them are published, and whoever
   * lets the keys wait from those positions on would take them for rows that wait.
   */
  removePublished(published: Snapshot, parts: readonly KeyPart[]): Promise<void>;
  askRetry(wish: RetryWish): Promise<void>;
  /** Each wish once. */
  takeRetries(): Promise<readonly RetryWish[]>;
  /** What is committed and not published. */
  backlog(published: PublishedPlace): Promise<Backlog>;
  /** Transactions that have written to the outbox and are open for longer (default: long enough that somebody should look). */
  blockers(openForMs?: number): Promise<readonly Blocker[]>;
  /** Bootstraps that are not over: somebody runs them, or has stopped. */
  bootstraps(): Promise<readonly Bootstrap[]>;
  /** Refuses TRUNCATE on partitions that came after their table was attached. Returns those that it found without. */
  guardPartitions(): Promise<readonly FoundPartition[]>;
  /** Attached tables of which changes pass untold, or out of order, because somebody has changed the table or its triggers. */
  untoldTables(): Promise<readonly UntoldTable[]>;
}

export interface UntoldTable {
  /** Or a partition of one. */
  readonly table: string;
  readonly fault: string;
}

export interface FoundPartition {
  readonly partition: string;
  /** Why it is still open to TRUNCATE; undefined when it is guarded now. */
  readonly fault: string | undefined;
}

export interface Backlog {
  readonly rows: number;
  /** There are more rows than were counted. */
  readonly isAtLeast: boolean;
  /** Age of the oldest row; null without rows. */
  readonly lagMs: number | null;
}

/** Either a session or a prepared transaction. */
export interface Blocker {
  readonly pid: number | null;
  readonly preparedAs: string | null;
  readonly application: string;
  readonly user: string;
  readonly state: string;
  readonly ageMs: number;
}

export type LeaseAnswer =
  /** `term` grows whenever the owner changes. */
  | { readonly kind: 'granted'; readonly term: bigint; readonly published: Snapshot | undefined }
  | { readonly kind: 'held'; readonly owner: string; readonly expiresInMs: number };

/** The lease row, by compare-and-set on the database's clock. It spares rivals; exactness does not rest on it. */
export interface RelayLease {
  /** Takes or renews. */
  acquire(ttlMs: number): Promise<LeaseAnswer>;
  /** Remembers that everything visible in the snapshot is published; only its owner may. */
  record(published: Snapshot): Promise<void>;
  release(): Promise<void>;
  holder(): Promise<{ readonly owner: string; readonly expiresInMs: number } | undefined>;
}

/** Hints that rows were committed. They may be lost, so whoever waits gives a time limit. */
export interface OutboxHints {
  /** Tells writers that a hint is wanted. Look for rows once more before waiting. */
  announceSleep(): Promise<void>;
  announceAwake(): Promise<void>;
  /** Resolves with the next hint, after `ms`, or when aborted. A hint that came since the last wait counts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The database side of one relay. */
export interface Outbox {
  readonly reader: OutboxReader;
  readonly lease: RelayLease;
  readonly hints: OutboxHints;
  close(): Promise<void>;
}

/** What a rebase does in the database. */
export interface RebaseStore {
  /** The newest snapshot that the lease row knows to be published. */
  witness(): Promise<Snapshot | undefined>;
  /** Committed rows above the position, in order; none = that were all. */
  rows(after: bigint): Promise<readonly RebaseRow[]>;
  /** Ends the lease of whoever else has it. */
  endLease(): Promise<void>;
  /**
   * Removes these rows, and makes all others invisible in the returned snapshot and visible in every later one: what it
   * sees is published. The lease row remembers it. All or nothing, and flushed when it resolves; only who has the lease may.
   */
  settle(published: readonly bigint[]): Promise<TakenSnapshot>;
  close(): Promise<void>;
}
