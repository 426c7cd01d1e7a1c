/** Numbers of a relay under faults, each with its reason. */

export const RELAYS = 2;
/**
 * Short, so that a takeover is over before the next fault. On a machine with forty processes a runnable core, two relays
 * with half of it took the lease from each other before either had committed a batch.
 */
export const LEASE_TTL_MS = 3_000;
/**
 * From the lease's end to the first row of the next relay: its turn, fencing, position, a commit. Half a second on a quiet machine,
 * two where five processes wait for each core, 27 where fifteen do (measured); it is to find a relay that waits for something else.
 */
export const TAKEOVER_SLACK_MS = 45_000;

export const PARTITIONS = { events: 3, items: 3, locked: 2, stock: 3, docs: 2 } as const;

/** Few and hot: every key is always wanted by several. */
export const HOT_KEYS = 8;
/** Sessions of each kind; two cores, and every one of them is a process of Postgres. */
export const WRITERS = { publisher: 3, table: 3, locker: 2, holder: 1, preparer: 1, requester: 1, bulk: 1 } as const;
export const STEPS_MAX = 4;
/** Between two statements: lets locks, transaction ids and positions be drawn in different orders. */
export const STEP_PAUSE_MS = { min: 0, max: 8 } as const;
/** Between two transactions of a session. */
export const PAUSE_MS = { min: 40, max: 160 } as const;
/** Transactions that stay open while many others end. */
export const LONG_MS = { min: 1_000, max: 4_000 } as const;
export const PREPARED_MS = { min: 100, max: 1_500 } as const;
export const REQUEST_PAUSE_MS = { min: 600, max: 1_400 } as const;
export const BULK_PAUSE_MS = { min: 4_000, max: 9_000 } as const;
export const BULK_ROWS = { min: 2_000, max: 4_000 } as const;
/** Above the thousand locks from which on a transaction takes the whole topic. */
export const BULK_KEYS = 1_200;
/** A third of the transactions does not wait for the flush: a crash may take them back although they were answered. */
export const LAZY_SHARE = 1 / 3;

/** Random orders of locks end in deadlocks; at the server's second each would cost more than all pauses. */
export const DEADLOCK_TIMEOUT_MS = 100;
/** Nobody holds a lock for so long but behind a crash. */
export const LOCK_TIMEOUT_MS = 20_000;
/** An answer that takes longer will not come; the tens of thousands of rows of one statement take a minute on a busy machine. */
export const ANSWER_MS_MAX = 180_000;
export const CONNECT_MS_MAX = 5_000;
export const RECONNECT_MS = 100;
/** What has no hurry is flushed late, and a commit waits 20 ms for others: a crash finds some that are not flushed, or not answered. */
export const POSTGRES_SETTINGS = { wal_writer_delay: '5s', commit_delay: '20000', commit_siblings: '1' } as const;

/** A stopped relay stays so long beyond its lease: the other one has published by then. */
export const STOPPED_BEYOND_LEASE_MS = { min: 1_000, max: 2_500 } as const;
/** It finds out with its next look at the lease or its next commit. */
export const FENCED_MS_MAX = 30_000;
/** A commit, the lease, and the exit on a busy machine. */
export const STOP_MS_MAX = 15_000;
/** So many commits are on their way when the server crashes, so long after they were sent. */
export const COMMITS_AT_CRASH = 6;
export const CRASH_AFTER_COMMIT_MS = { min: 0, max: 60 } as const;
export const POSTGRES_DOWN_MS = { min: 0, max: 1_500 } as const;
export const CUTS = 3;
export const BETWEEN_CUTS_MS = 300;

/** `max.message.bytes` of the topic before and after somebody raises it, and a row between the two. */
export const SMALL_LIMIT_BYTES = 64 * 1024;
export const LARGE_LIMIT_BYTES = 1024 * 1024;
export const LARGE_ROW_BYTES = 200_000;
/** Small ones that must wait behind the large one. */
export const ROWS_BEHIND = 3;

export const HELD_MS = { min: 10_000, max: 12_000 } as const;
/** A crash of the server ends the session that holds the transaction, and it is held once more. */
export const HOLD_ATTEMPTS = 4;

/** Rows of one commit: so many are inserted, and so many of them changed again. */
export const HUGE_INSERTED = 30_000;
export const HUGE_CHANGED = 20_000;

/** After a fault rows are published again within this time: seconds, but where a broker alone takes 45 s to start. */
export const RECOVERY_MS_MAX = 120_000;
/** After the load: what waits is published and removed from the outbox, which takes rounds of a second. */
export const DRAIN_MS_MAX = 120_000;
/** Our own reader reaches what Apache's has read. */
export const TAIL_MS_MAX = 30_000;
/** Apache's console consumer ends when nothing came for so long; its start counts, so each attempt gets as much more. */
export const CONSOLE_IDLE_MS = 15_000;
/** A hundred thousand records on a machine that does other things. */
export const CONSOLE_MS_MAX = 600_000;
export const CONSOLE_ATTEMPTS = 4;
/** At once: each takes a core for its start. */
export const CONSOLES = 2;
export const FAULTS_TOLD_MAX = 8;
