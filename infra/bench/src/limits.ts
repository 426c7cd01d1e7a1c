/** What is measured, and every bound of a run with its reason. */

/** The work that all peers are measured with. */
export const TRAVERSE_RECORDS = 2_000_000;
export const TRAVERSE_SMALL_RECORDS = 100_000;
export const TRAVERSE_PARTITIONS = 4;
export const TRAVERSE_VALUE_BYTES = 300;
export const TRAVERSE_CHUNK_RECORDS = 1_000;
/** From a job that is over at once to the whole topic: what grows with the number of records shows between them. */
export const TRAVERSE_SIZES = [10_000, 100_000, 500_000, 1_000_000, TRAVERSE_RECORDS] as const;
/** The largest of them: from 500,000 records on the young generation of V8 has been full several times. */
export const SETTLED_SIZES = 3;
/** Counters of more records are longer numbers. */
export const STATE_BYTES_RATIO_MAX = 1.1;

/** The blocking work of all peers: a handler that sleeps, so many at a time over the whole process, in order per key. */
export const BLOCKING_RECORDS = 20_000;
export const BLOCKING_KEYS = 1_000;
export const BLOCKING_SLEEP_MS = 5;
export const BLOCKING_CONCURRENCY = 100;
export const BLOCKING_IDEAL_PER_S = (BLOCKING_CONCURRENCY * 1_000) / BLOCKING_SLEEP_MS;

/** Small enough that a job of the small ones has several chunks. */
export const FAIRNESS_CHUNK_RECORDS = 100;
export const FAIRNESS_SMALL_JOBS = 20;
export const FAIRNESS_SMALL_RECORDS = 1_000;

/** A median of three bears one disturbed run. */
export const RUNS = 3;

/** What the Java producer puts into a batch by default (16 KiB), so that the log looks as if applications had written it. */
export const FILL_BATCH_RECORDS = 50;
/** Random letters are made once and reused shifted: the filling would otherwise take longer than all runs. */
export const FILL_DISTINCT_VALUES = 1_000;
export const FILL_PROGRESS_RECORDS = 250_000;

/** Peak memory is what the kernel remembers, so looking rarely loses nothing but the last moments. */
export const RSS_POLL_MS = 20;

/** The end of a run is seen within this. */
export const CLOSED_POLL_MS = 2;

/** A traversal that takes longer than this hangs; at the slowest rate ever seen here 2,000,000 records take 35 s. */
export const TRAVERSE_TIMEOUT_MS = 300_000;

/** Enough that the start of the process does not show, little enough that filling them takes seconds. */
export const RELAY_ROWS = 200_000;
export const RELAY_PARTITIONS = 4;
export const RELAY_KEYS = 1_000;
export const RELAY_VALUE_BYTES = 250;
export const RELAY_POLL_MS = 200;
/** At the slowest rate ever seen here 200,000 rows take 20 s. */
export const RELAY_TIMEOUT_MS = 300_000;

/** How long a run beside peers waits for a quiet machine; so long is one look at it. */
export const QUIET_SECONDS = 60;
export const QUIET_LOOK_MS = 2_000;

/** A run beside more other work than this (cores) is noisy, see the README of the peers. */
export const NOISY_CORES = 0.3;

/** Three days: one to settle, one with a transaction that is left open, one to see whether that is over. */
export const BLOAT_DAYS = 3;
export const BLOAT_ROWS_PER_DAY = 1_000_000;
export const BLOAT_VALUE_BYTES = 256;
/** So many looks at the table has the clean-up of a simulated day, instead of 86,400. */
export const BLOAT_ROUNDS_PER_DAY = 200;
export const BLOAT_SAMPLES_PER_DAY = 10;
export const BLOAT_WAITING_ROWS = 100;
/** Vacuum comes when it comes, and on a busy machine late; what is larger than this grows. */
export const BLOAT_FLAT_RATIO = 2;
