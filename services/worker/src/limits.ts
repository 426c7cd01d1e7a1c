/** Limits and defaults of the worker, each with its reason. */

/** Four ranges at once hide the round trips to Kafka and Redis behind one another; one process has one thread to fill. */
export const SLOTS_DEFAULT = 4;
/** Every slot keeps a broker connection and two chunks in memory. */
export const SLOTS_MAX = 64;
/** Permits of all jobs are one set in the store, looked through when one is taken. */
export const RANGES_MAX_MAX = 10_000;

/** How long a range stays with a worker that died. Shorter means more renewals, longer means a longer wait after a crash. */
export const LEASE_TTL_MS = 10_000;
/** Below this a pause of the garbage collector or a busy machine costs leases all the time. */
export const LEASE_TTL_MIN_MS = 1_000;
export const LEASE_TTL_MAX_MS = 300_000;
/** Two renewals may fail before the lease is in danger. */
export const RENEWALS_PER_TTL = 3;
/** The part of the ttl that is not trusted: the store's clock and ours run at slightly different speeds. */
export const TRUST_MARGIN_PART = 0.1;
/** Looks at the lease this often per ttl, so that the end of trust is acted on soon after it is due. */
export const LEASE_TICKS_PER_TTL = 20;

/** After this long with one range a slot asks whether another job waits; the batches read ahead are lost then. */
export const TIME_SLICE_MS = 30_000;

/** A chunk of slow records moves the cursor at least this often, so that a crash repeats little. */
export const PARTIAL_ADVANCE_MS = 1_000;

/** Running records may finish for this long after SIGTERM; with the last advance and release the exit is below 5 s. */
export const STOP_GRACE_MS = 3_000;
/** For the last advance and release when the store answers slowly; correctness does not depend on them. */
export const STOP_REST_MS = 1_500;

/** Without a wake-up a slot looks for work this often. Correctness rests on this poll, so it is never switched off. */
export const POLL_MS = 1_000;
/** Announcements tell operators which workers live and what they offer. */
export const ANNOUNCE_MS = 5_000;

/** Jobs asked for in one go. The least recently served come first. */
export const PROPOSALS_MAX = 8;
/** Jobs without anything to lease that a slot looks at before it waits: a listed job beyond these has its turn at the next look. */
export const LOOKED_AT_MAX = 128;
/** Ranges tried per job: enough to get past those that other slots took in the same moment. */
export const CANDIDATES_MAX = 16;

/** The broker holds an empty answer back for this long, so that waiting costs few requests. */
export const READ_WAIT_MS = 500;

/** An answer that would end a range is asked for again this many times: metadata after a restart may be behind. */
export const SUSPICIONS_MAX = 3;
export const SUSPICION_RECHECK_MS = 250;

/** A range that waits (open transaction, outage) keeps its slot this long, then lets other work have it. */
export const HOLD_MS = 10_000;
/** Pauses between looks at an open transaction: it ends soon or not at all. */
export const OPEN_TRANSACTION_PAUSE_MS = 500;
/** A range that the sink fenced out is left alone this long: its younger owner has had time to show itself. */
export const FENCED_RELEASE_MS = 200;
/** Doubling up to this while the sink goes on refusing: cheap, and soon enough once somebody has mended it. */
export const FENCED_RELEASE_MAX_MS = 30_000;
export const REMEMBERED_FENCED_RANGES_MAX = 10_000;
/** How long a range that still waits is left alone after its release. */
export const WAITING_RELEASE_MS = 1_000;

/** Pauses while a dependency is down, jittered and doubling: first, and at most. */
export const OUTAGE_BASE_MS = 200;
export const OUTAGE_MAX_MS = 5_000;

/** A handler that never waits gives way to timers and signals this often. */
export const SYNC_TURN_MS = 20;
/** A lease is renewed from a third of its ttl on and not trusted in its last tenth: a block of this part may end it. */
export const BLOCKING_MAX_PART = 0.5;
/** What a call should take after that: with the renewal due at a third it leaves room for the answer of the store. */
export const BLOCKING_TARGET_PART = 0.2;

/** Pauses between attempts of one record, jittered and doubling: first, and at most. */
export const ATTEMPT_BASE_MS = 100;
export const ATTEMPT_MAX_MS = 5_000;

/** Retries of one store call while its lease is trusted. */
export const STORE_RETRY_BASE_MS = 20;
export const STORE_RETRY_MAX_MS = 1_000;

/** Dead letters are kept longer than most logs, because somebody has to find the time to look at them. */
export const DEAD_LETTER_RETENTION_MS = 30 * 86_400_000;
/** Letters that are gone before anybody can look at them are no letters; a smaller number is in another unit by mistake. */
export const DEAD_LETTER_RETENTION_MS_MIN = 3_600_000;
/** A record at the limit of its own topic must fit with the header block added. */
export const DEAD_LETTER_MESSAGE_MAX_BYTES = 64 * 1024 * 1024;
/** A key longer than this is left out when a record does not fit and only a pointer to it is kept. */
export const DEAD_LETTER_POINTER_KEY_BYTES_MAX = 16 * 1024;

/** Jobs remembered for "said once" log lines. */
export const REMEMBERED_JOBS_MAX = 1_000;

/** Attempts that a record gets in place, in the middle of its chunk; then it is parked. A short fault is over by then. */
export const IN_PLACE_ATTEMPTS = 3;
/** One that ran out of time would hold its chunk up for as long again. */
export const IN_PLACE_ATTEMPTS_AFTER_TIMEOUT = 1;
/** Pauses before a parked record is tried again, half of them jittered and doubling: first, and at most. */
export const PARKED_BASE_MS = 1_000;
export const PARKED_MAX_MS = 60_000;
/** Parked records tried between two chunks: settled by one step of the store, and repeated by a crash. */
export const PARKED_BATCH_RECORDS = 100;
/** No further one of the batch is started after this: slow ones must not hold up the healthy records behind them. */
export const PARKED_BATCH_MS = 1_000;
/** Parked records that lie closer together are read in one go: what lies between them costs less than another request. */
export const PARKED_GAP_OFFSETS = 100;

/** With other jobs waiting a slot gives its range back after so many chunks: their turn comes within a second or so. */
export const SLICE_CHUNKS = 16;
/** A chunk of a job with a rate takes at most this long of it: so the records come evenly, and slots share the rate. */
export const RATE_CHUNK_MS = 250;
/** While one chunk probes whether a dependency is back, the other slots of its handler look this often. */
export const PROBE_LOOK_MS = 100;
/** Dependencies have stable names; should a handler make up new ones all the time, the oldest are forgotten. */
export const BREAKERS_PER_HANDLER_MAX = 16;
/** A permit is renewed as often as a lease but not by the same calls, so it must outlast the lease of a dead worker. */
export const PERMIT_TTLS = 2;
/** The distributor sees within a second that a record used up its attempts; until then nobody should try it once more. */
export const EXHAUSTED_RELEASE_MS = 10_000;
/** Looks this often whether the lease is still wanted while it waits for room in a full parked set. */
export const PARKED_LOOK_MS = 1_000;

/** Jobs in formats 1 and 2 are understood; a worker that took a newer one would pass over what it asks for. */
export const JOB_FORMAT_MAX = 2;

/** Targets of jobs that republish, whose partition counts a worker knows. */
export const REMEMBERED_TARGETS_MAX = 100;

/** Longer than one request to a broker that hangs may take: all slots of a worker write in turn. */
export const REPUBLISH_PATIENCE_MS = 60_000;
/** Beyond it, so that nothing that is slow is taken for a fault of the records. */
export const REPUBLISH_TIMEOUT_MS = 2 * REPUBLISH_PATIENCE_MS;

/** Requests of one range at the same time: hides the way to a server without storming it (times four slots). */
export const WEBHOOK_CONCURRENCY = 8;
/** For a look whether a host that did not answer takes connections; within the grace that follows. */
export const WEBHOOK_CONNECT_MS = 3_000;
/** Between the longest time of a request and the end of its attempt. */
export const WEBHOOK_GRACE_MS = 5_000;
/** Of an answer that refuses a record: what tells a person why, within what a dead letter keeps of an error. */
export const WEBHOOK_BODY_CHARACTERS_MAX = 120;
/** A server that asks for more is asked again after this: it may have been restarted since. */
export const RETRY_AFTER_MS_MAX = 10 * 60_000;
export const REMEMBERED_HOSTS_MAX = 100;
/** Of an answer to a webhook; a longer one costs less as a new connection. */
export const ANSWER_BYTES_MAX = 16 * 1024;
