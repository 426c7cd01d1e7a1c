/** Numbers of a traversal under faults, each with its reason. */

/** Loaded by the workers, inside the checkout. */
export const HANDLERS = 'infra/chaos/src/traversal/handlers.ts';

export const WORKERS = 3;
export const SLOTS = 6;
export const DISTRIBUTORS = 2;
/** Short, so that a takeover is over before the next fault. */
export const LEASE_TTL_MS = 5_000;
/** What a takeover may take beyond the lease. */
export const TAKEOVER_SLACK_MS = 2_000;
export const CHECKPOINT_EVERY_MS = 1_000;
/** From the look at the store to the acknowledgement of the checkpoint, on a busy machine. */
export const CHECKPOINT_COMMIT_MS = 1_000;
/** A record may be cut as soon as it is so old; every window is requested long before, also behind an outage. */
export const GUARD_POLICY = '90s';
export const GUARD_EVERY_MS = 2_000;

/** Small, so that a killed worker has something in each slot, and large against the pauses between chunks. */
export const CHUNK_RECORDS = 50;

/** A quarter of the slots is busy with it, so that a slot is free for a range whose owner died. */
export const FILL_PER_SECOND = 800;
export const FILL_EVERY_MS = 250;
export const KEYS_PER_PARTITION = 40;
export const TEXT_BYTES = 40;
export const STREAMS = [
  { name: 'orders', partitions: 3 },
  { name: 'chat', partitions: 2 },
] as const;
/** A topic of its own for records that a stranger deletes: no other job may need them. */
export const CUT_PARTITIONS = 3;

export const REQUEST_EVERY_MS = 1_500;
/** More jobs at once would only wait for slots, and an orphaned range behind them. */
export const OPEN_JOBS_MAX = 4;
/** ... but nothing may wait until the guard cuts it. */
export const ASK_ANYWAY_MS = 15_000;
/** A window with fewer new records waits for the next request. */
export const WINDOW_RECORDS_MIN = 300;

/** What a call of the sink takes: so long a chunk is in hand, and a stopped worker is most likely stopped inside it. */
export const SINK_CALL_MS = 250;
/** The window of a slow job is one chunk in each partition, which takes 7.5 s: longer than a lease. */
export const SLOW_RECORDS = 30;
export const SLOW_RECORD_MS = 250;
/** An attempt that hangs is given up after this. */
export const HANGING_TIMEOUT_MS = 1_500;
/**
 * In each partition of the window of a job whose handler fails or hangs: one of them at least will never come through.
 * Also a bound of the parked retries between two chunks: the worker takes up to 100, but no window with any holds more than this.
 */
export const MISBEHAVED_RECORDS = 60;
/** In each partition of the job that asks whether a distributor works. */
export const PROBE_RECORDS = 20;
export const FAILING_ATTEMPTS = 5;
export const HANGING_ATTEMPTS = 3;

/** A stopped worker stays so long beyond its lease: the range has another owner who has written by then. */
export const STOPPED_BEYOND_LEASE_MS = { min: 1_500, max: 2_500 } as const;
/** A worker that goes on finds out within a second; the writes it had in hand come at once. */
export const AFTER_CONTINUE_MS = 1_500;
/** The grace for running records (3 s), the rest (1.5 s), and the exit on a busy machine. */
export const STOP_MAX_MS = 10_000;

/** Copies of Redis' append-only file, of which an old one is put back. */
export const COPY_EVERY_MS = 2_000;
export const COPIES_KEPT = 6;
export const COPY_AGE_MIN_MS = 4_000;

/** A reader asks for 64 KiB at least: so much must not be all there is when records are deleted in front of it. */
export const LARGE_TEXT_BYTES = 1_500;
export const LARGE_BATCH = 20;
export const CUT_CHUNK_BYTES = 64 * 1024;
/** Into one partition, in front of a job that is cut at a place between the two parts. */
export const CUT_RECORDS = 1_000;
export const CUT_AT_PART = { min: 0.4, max: 0.9 } as const;
/** The job is under way when so many records have arrived. */
export const CUT_AFTER_RECORDS = 100;

/** A takeover is looked for this often, and given up after so long. */
export const LOOK_EVERY_MS = 40;
export const TAKEOVER_WAIT_MAX_MS = 30_000;
/** A victim that holds nothing is no victim; with jobs all the time one does within seconds. */
export const VICTIM_WAIT_MAX_MS = 15_000;
/** After a fault work goes on within this time, or the run is over. */
export const RECOVERY_MAX_MS = 60_000;
/** After the last fault: parked retries, leases of the dead, and everything that queued. */
export const DRAIN_MAX_MS = 150_000;
