/** Numbers of the relay, each with its reason. */

/** Rows of one Kafka transaction: below about 2,000 the transaction's own cost shows (measured), above it only memory grows. */
export const BATCH_ROWS_MAX = 4_000;
/** Bytes of one Kafka transaction. Three are in memory: one is committed, the next is encoded, the one after it is read. */
export const BATCH_BYTES_MAX = 8 * 1024 * 1024;

/** A dead relay is replaced after this long. Long enough that a pause of the garbage collector or a busy machine loses nothing. */
export const LEASE_TTL_MS = 10_000;
export const LEASE_TTL_MS_MIN = 1_000;
export const LEASE_TTL_MS_MAX = 300_000;
/** Two renewals may fail before the lease is over. */
export const LEASE_RENEWALS_PER_TTL = 3;

/** What correctness rests on when a hint is lost. A look costs the database about half a millisecond. */
export const POLL_MS = 250;
export const POLL_MS_MIN = 10;
export const POLL_MS_MAX = 60_000;
/** First pause after an empty look, doubled until SLEEP_AFTER_MS: a busy outbox is looked at without being notified. */
export const AWAKE_PAUSE_MS = 2;
export const SLEEP_AFTER_MS = 64;

/** Without rows the position is written again this often, so that clean-up and the window's width do not depend on traffic. */
export const IDLE_POSITION_MS = 60_000;

/** A topic's partition count is trusted for this long. Records carry their partition, so a change is never half applied. */
export const TOPIC_TRUST_MS = 30_000;
/** A broker that has just started may not know its topics yet: so many answers must agree that one is missing. */
export const MISSING_OBSERVATIONS = 4;
export const MISSING_PAUSE_MS = 500;

/** Keys that may be parked, and what their texts may take: the set stands in every position, which one record must hold. */
export const PARKED_KEYS_MAX = 1_000;
export const PARKED_BYTES_MAX = 256 * 1024;
/** A name or reason in that set is cut here, in characters. A key is not: its rows are found by it. */
export const PARKED_TEXT_MAX = 200;
/** Parked keys whose rows are read together: many of them are large. */
export const KEYS_A_TRY = 16;
/** A parked key is tried again after this, doubled up to the bound: whoever heals it need not tell us, and a try is cheap. */
export const RETRY_PARKED_BASE_MS = 1_000;
export const RETRY_PARKED_MS_MAX = 300_000;

/** After a failed session: full jitter between zero and a bound that doubles up to this. */
export const RETRY_BASE_MS = 100;
export const RETRY_MS_MAX = 5_000;

/** How often published rows are removed and the lease row remembers how far they are. */
export const HOUSEKEEPING_MS = 1_000;
/** One round of clean-up removes at most so many batches of rows, and lets others work between them. */
export const CLEANUP_BATCHES_MAX = 20;
export const CLEANUP_PAUSE_MS = 20;
/** How often the lag is asked for: caught up it costs a look at an index, a million waiting rows some tenths of a second. */
export const LAG_EVERY_MS = 5_000;
/** So many times as long as it took it is not asked for: looking must not be the load. */
export const LAG_REST = 20;
/** How often transactions that hold rows back are looked for. */
export const BLOCKERS_EVERY_MS = 5_000;
/** How often partitions are looked for that TRUNCATE could empty unseen: a look at the catalog, and new ones come by the day. */
export const PARTITIONS_EVERY_MS = 10_000;
/** Two transactions of one session begin further apart than this blur of what the clocks say of one. */
export const CLOCK_BLUR_MS = 2_000;

/** How far the clocks of a relay and of its database may be apart when a rebase looks for events no older than their rows. */
export const REBASE_CLOCKS_MS = 3_600_000;
/** Rows a rebase compares: ids and keys are in memory. A million took 246 MB of heap, and some 650 MB of the process at the peak. */
export const REBASE_ROWS_MAX = 3_000_000;
/** A rebase renews its lease like a relay; when it dies, relays wait so long. */
export const REBASE_LEASE_TTL_MS = 30_000;
/** Events without a row that are named one by one; all are counted. */
export const EXTRA_EVENTS_LISTED_MAX = 1_000;

/** Looking for the newest position begins so many offsets from the end, and goes back by as many times as much. */
export const POSITION_TAIL = 256n;
export const POSITION_TAIL_GROWTH = 16n;
/** How far the clocks of relay and brokers may be apart where a transaction is looked for by its time. */
export const CLOCKS_APART_MS = 3_600_000n;
/** The markers of a transaction come within milliseconds. Longer than an election, since a leader writes them. */
export const SETTLE_MS = 15_000;
/** Between two looks: most transactions have settled at the first or second. */
export const SETTLE_PAUSE_MS_MIN = 1;
export const SETTLE_PAUSE_MS_MAX = 50;
