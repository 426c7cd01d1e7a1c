/** Limits and defaults of handlers, each with its reason. */

/** One record at a time: nobody is surprised by concurrency that he did not ask for. */
export const DEFAULT_CONCURRENCY = 1;

/** Every record in flight holds a promise and a timer; beyond this a sink is the bottleneck, not the waiting. */
export const CONCURRENCY_MAX = 1_000;

/** Long enough for a slow sink under load, short enough that a hung call is noticed within one lease or two. */
export const DEFAULT_TIMEOUT_MS = 30_000;

/** A timer of Node counts in 32 bits; a day is more than any single call should take. */
export const TIMEOUT_MAX_MS = 86_400_000;

/** More than a worker hands out to a handler that does nothing: a higher number is a mistake in the unit. */
export const RATE_MAX = 1_000_000;

/** The largest chunk that a job may ask for: a batch is never more than a chunk. */
export const BATCH_RECORDS_MAX = 100_000;

/** A row that others move between two looks is looked at again this often: more in a row is a loop of their own. */
export const STATE_LOOKS_MAX = 5;

/** Causes of causes are followed this deep when a fault is classified: wrapped errors are rarely deeper than three. */
export const CAUSE_DEPTH_MAX = 8;

/** Text of a fault that is kept in notes and logs. */
export const FAULT_TEXT_MAX = 200;
