/** Numbers of the simulation, each with its reason. */

/** 2025-01-01T00:00:00Z: when every simulation begins. */
export const BEGIN_MS = 1_735_689_600_000;

/** Records have timestamps from before the beginning, one in so many milliseconds and a little out of order. */
export const RECORDS_BEGIN_MS = BEGIN_MS - 60_000;
export const RECORD_EVERY_MS = 100;

export const LEASE_TTLS_MS = [1_000, 1_500, 2_000] as const;
/** How long a handler takes with one record; 0 = it answers at once. */
export const HANDLER_MS = [0, 5, 40, 300, 700] as const;
/**
 * Longer than the longest lease and the longest record together: a process that stood still then loses the lease before its
 * attempts run out of time, as with the defaults of the worker. Else a record could come to a dead letter by the freeze alone.
 */
export const ATTEMPT_TIMEOUT_MS = 2_600;
/** Seeds in which records are removed under a job that goes on, and its store is emptied after: often enough, and the others stay what they were. */
export const ROBBED_ONE_IN = 15;
/** So that such a job is still at work then. */
export const ROBBED_HANDLER_MS = [300, 700] as const;
