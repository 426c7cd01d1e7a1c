/** Numbers of the outbox, each with its reason. */

/** Rows drawn since the last window up to which a window is worth a sort; beyond, it is scanned in position order. */
export const SORTED_WINDOW_ROWS_MAX = 10_000;

/** Positions one page may pass over: bounds the time of a scan through rows of other windows, far below SNAPSHOT_HELD_MS_MAX. */
export const SCAN_POSITIONS_MAX = 500_000n;

/** First fetch of a page; the size of the next ones follows the average row, so that a few large rows do not fill the memory. */
export const FIRST_FETCH_ROWS = 250;
/** Before a row was seen: 250 of a megabyte each may be more than the process has, and it would end the same way after each start. */
export const FIRST_FETCH_UNKNOWN_ROWS = 16;
export const FETCH_ROWS_MAX = 2_500;
/** First fetch of rows that could not be sent: they are often so for their size. */
export const FIRST_FETCH_WAITING_ROWS = 16;

/** No cursor or snapshot lives longer: an old snapshot keeps vacuum from cleaning every table of the database. */
export const SNAPSHOT_HELD_MS_MAX = 30_000;

/** The client gives up a little after the server would have: only a connection that swallows answers gets here. */
export const ANSWER_MS_MAX = 35_000;
/** What a server answers in milliseconds when it is well: snapshots, the flush, the lease. Such a connection is left sooner. */
export const SHORT_ANSWER_MS_MAX = 10_000;
export const CONNECT_MS_MAX = 5_000;

/** Lease, clean-up and diagnosis run side by side; the reader has a connection of its own. */
export const CONNECTIONS_MAX = 3;

/** Ordinary flushes come with the next commit; a server that has had none for so long can afford one of ours. */
export const FLUSH_NUDGE_AFTER_MS = 5;
/** Beside writers the log is behind almost every snapshot, by the time of one flush, and a row waits for this. */
export const FLUSH_POLL_MS = 1;
/** A server that does not flush for this long is not well. */
export const FLUSH_WAIT_MS_MAX = 30_000;

/** A transaction that holds rows back is named when it is older. */
export const BLOCKER_AGE_MS = 10_000;
export const BLOCKERS_NAMED_MAX = 10;

/** Rows one clean-up statement removes: short enough to leave writers and vacuum room. */
export const CLEANUP_ROWS_MAX = 5_000;

/** A sleeping relay renews its note at least this often; a dead one costs writers their notifications no longer than this. */
export const SLEEP_NOTE_MS = 30_000;

/** A relay that was woken lets its note stand for this long, at the cost of some notifications: most soon sleep again. */
export const NOTE_STANDS_MS = 10_000;

/** The listening connection is asked for a sign of life this often, and given up after LISTEN_ANSWER_MS_MAX without one. */
export const LISTEN_CHECK_MS = 5_000;
export const LISTEN_ANSWER_MS_MAX = 5_000;
export const LISTEN_RETRIES = { baseMs: 200, maxMs: 5_000, fixedPart: 0.5 } as const;

/** Behind a pooler: a notification that has not come by then will not come. Without one nothing is waited for. */
export const POOLER_PROBE_MS = 3_000;

/** attach and detach give up after this many short waits for the table's lock (each 250 ms, plus a growing pause). */
export const ATTACH_ATTEMPTS_MAX = 20;
export const ATTACH_PAUSES = { baseMs: 100, maxMs: 2_500, fixedPart: 0.5 } as const;

/** Beyond this a backlog is only said to be larger: counting it would cost more than knowing it. */
export const BACKLOG_COUNT_MAX = 1_000_000;

/** Rows that one statement of a rebase lists or removes. */
export const REBASE_PAGE_ROWS = 10_000;

/** Of a bootstrap: rows of one chunk, as many as take about as long as an ordinary transaction of a dozen statements. */
export const BOOTSTRAP_ROWS = 1_000;
/** Of one transaction, which is a window of its own to the relay. */
export const BOOTSTRAP_ROWS_MAX = 10_000;
/** Its locks make writers wait no longer than attach does. */
export const BOOTSTRAP_CHUNK_MS_MAX = 250;
/** A chunk of rows this slow is cut off and tried with fewer. */
export const BOOTSTRAP_STATEMENT_MS_MAX = 5_000;
/** Rows that wait for the relay: a second or two of its work, and a table that stays small. */
export const BOOTSTRAP_BACKLOG_ROWS = 50_000;
/** What the relay has published it says once a second. */
export const BOOTSTRAP_BACKLOG_LOOK_MS = 250;
export const BOOTSTRAP_PAUSES = { baseMs: 50, maxMs: 2_500, fixedPart: 0.5 } as const;
/** Without a step for this long somebody must look: a forgotten transaction, or no relay. The place is kept. */
export const BOOTSTRAP_PATIENCE_MS = 600_000;
