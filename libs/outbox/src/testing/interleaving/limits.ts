/** Numbers of the checker, each with its reason. */

/** More would only wait for each other on two cores. */
export const SESSIONS = 8;
/** One seed takes a second or two, so that a failing one is soon run again. */
export const TRANSACTIONS_EACH = 25;
export const STEPS_MAX = 5;

/** Few and hot: every key is always wanted by several. */
export const KEYS = ['a', 'b', 'c', 'd'] as const;
/** Of events by hand: a lock that is not taken shows only where two come within a few milliseconds. */
export const HOTTEST = ['a', 'b'] as const;

/** Rows that a topic may be told not to take: few, so that most keys are free most of the time. */
export const LARGE_ONE_IN = 12;
export const LARGE_CHARACTERS = 4_000;

/** Between a statement and the account of it: longer than most pauses, so that another may come in between. */
export const NOTED_AFTER_MS_MAX = 20;

/** Between two statements: lets locks, transaction ids and positions be drawn in different orders. */
export const PAUSE_MS_MAX = 5;
/** The few transactions that stay open while many others end; from, to. */
export const HOLD_MS = [60, 250] as const;

/** Random orders of locks end in deadlocks; at the server's second each would cost more than all pauses. */
export const DEADLOCK_TIMEOUT_MS = 30;
/** Nobody holds a lock for so long, even where the process stands still; one that is waited for longer is a fault of the checker. */
export const LOCK_TIMEOUT_MS = 90_000;

/** The reader's pause between two windows: zero, so that windows hold one transaction, up to many. */
export const READER_PAUSE_MS_MAX = 40;
export const PAGE_ROWS_MAX = 12;
/** While a crashed server comes back. */
export const READER_RETRY_MS = 50;

/** After how many commits of the writers the server crashes, of some 150; from, to. */
export const CRASH_AFTER_COMMITS = [10, 60] as const;
export const CRASH_LOOK_MS = 2;

/** A wrong reader says the same of hundreds of rows. */
export const FAULTS_TOLD_MAX = 8;
