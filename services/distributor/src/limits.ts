/** Limits and defaults of the distributor, each with the reason for the number. */
import { IDEMPOTENCY_HORIZON_MS } from '@tidemark/jobs';

/** What a lost store costs: work of at most this long is delivered again. A checkpoint is one small transaction. */
export const CHECKPOINT_EVERY_MS = 1_000;
/** Kafka's own default for `transaction.max.timeout.ms`: no producer can hold a transaction open for longer. */
export const OPEN_TRANSACTION_DEADLINE_MS = 15 * 60_000;

/** A dependency that has been away for an hour is not coming back by itself soon: a person should know that the job waits. */
export const BREAKER_DEADLINE_MS = 60 * 60_000;
/** A chunk takes seconds; whoever pauses or cancels a job is told within half a minute, and what is not settled by then comes again. */
export const DRAIN_DEADLINE_MS = 30_000;
/** Jobs killed in one transaction: each brings its last checkpoints, and all of them are halted already. */
export const KILLED_AT_ONCE = 100;

/** Holds for audits that end in one transaction: a state holds its pin, so this many are about as large as a round of checkpoints. */
export const HOLDS_ENDED_AT_ONCE = 50;

/** How long one look for requests may wait: short enough that a stop or a due checkpoint is not held up. */
export const INBOX_WAIT_MS_MAX = 500;

/** First wait after a dependency failed, and the longest: 10 s is soon enough for people and no load for a sick service. */
export const BACKOFF_BASE_MS = 100;
export const BACKOFF_MAX_MS = 10_000;

/** Records in one checkpoint transaction: about 1 MiB, so that neither a batch nor a transaction grows with the job count. */
export const CHECKPOINT_RECORDS_MAX = 4_000;
/** Parked records that take as much room as the rest of a checkpoint: about 40 bytes each against 250. */
export const PARKED_PER_CHECKPOINT = 6;
/** Jobs looked at together: the store is one server, more at once only queue there. */
export const SNAPSHOTS_AT_ONCE = 16;

/** A topic that changes its identity or its head while it is pinned is looked at again, but somebody who does it all day is refused. */
export const PIN_ATTEMPTS_MAX = 5;

/**
 * How long a request may wait for a topic that does not answer, with all requests behind it: a restart of its brokers is
 * over by then, and whoever asked for another topic has waited long enough.
 */
export const PIN_DEADLINE_MS = 10 * 60_000;

/**
 * Running jobs are listed for the workers again every so many rounds: an entry that somebody removed is back within
 * seconds, and a thousand jobs cost a fifth of what the look at them costs anyway.
 */
export const LIST_AGAIN_ROUNDS = 5;

/** Jobs at rest do not move: that the store lost one matters when people look at it, or resume it, which looks, too. */
export const RESTING_LOOK_ROUNDS = 15;

/** The age of the last checkpoint is shown in seconds. */
export const AGE_REPORT_EVERY_MS = 1_000;

/** A pin takes well under a second from its commit to the store; whoever took longer was suspended and asks again. */
export const PROOF_TRUST_MS = 1_000;
/** An idle distributor that was replaced hears of it within this time; one tiny record each. */
export const IDLE_PROOF_EVERY_MS = 30_000;

/** A reservation bridges the pin, seconds at most; when it runs out earlier, the confirmation asks the mark again. */
export const RESERVATION_TTL_MS = 60_000;
/** A store that loses a place this often while it is filled is broken. */
export const PLACE_ATTEMPTS_MAX = 5;
/**
 * Within this time floors are found missing that somebody deleted while no job was looking (one small script a partition), and
 * partitions that were added to the topic of a series (a question to the broker); until then the guard cuts nothing there.
 */
export const FLOORS_LOOK_EVERY_MS = 10_000;
/** The routine look waits no longer for a guard's transaction, which takes milliseconds unless its guard is dead. */
export const MARKS_WAIT_MS = 250;

/** Below this a range is finished sooner than a new one is found, leased and checkpointed. */
export const SPLIT_REST_MIN = 1_000;
/** A job is looked at whole each second; a thousand ranges keep hundreds of slots busy. */
export const SPLIT_RANGES_MAX = 1_000;
/** Each is a call on the store between two rounds; what is left is cut in the next one. */
export const SPLITS_PER_ROUND_MAX = 64;
/** Several of the usual leases: whoever still handles records from before a restore has noticed by then. */
export const SPLIT_QUIET_MS = 60_000;
/** What a worker has by default, for one that does not tell yet. */
export const SLOTS_UNTOLD = 4;

/**
 * A dead distributor is replaced within this time: jobs run on without it, only their
 * checkpoints and ends wait. One that is restarted after a crash waits as long.
 */
export const LEADERSHIP_TTL_MS = 5_000;

/** A pin stands in every state of its job, so of the keys that wait unsent only so many are named; all are counted. */
export const UNSENT_LISTED_MAX = 20;
export const UNSENT_TEXT_MAX = 200;
/** How long a pin waits for a position of the relay that is being committed; one that hangs must not stop jobs. */
export const POSITION_SETTLE_MS = 1_000;

/**
 * How long the state of a job that ended is kept: so long a request that is sent again is known by its id. It may be more,
 * not less: an outbox or a client that repeats within the horizon means the same job.
 */
export const ENDED_JOBS_KEPT_MS = IDEMPOTENCY_HORIZON_MS;
/** Ten years: whoever wants longer reads the audit trail, and every start reads all states. */
export const ENDED_JOBS_KEPT_MS_MAX = 3_650 * 86_400_000;
/** Of each series: runs of an hour reach six weeks back, runs of a minute most of a day; each costs a few KiB of memory and of every start. */
export const ENDED_RUNS_KEPT = 1_000;
export const ENDED_RUNS_KEPT_MAX = 100_000;
/** What is counted in days may be late by a minute; one look goes through all states. */
export const REMOVAL_EVERY_MS = 60_000;
/** With some calls on the store each, well under a second; what is left comes in the next round. */
export const REMOVED_AT_ONCE = 100;
/** A tombstone takes some 60 bytes, so these are as much as one checkpoint transaction; a job alone has at most 10,000. */
export const REMOVED_RANGES_AT_ONCE = 10_000;
/** Clocks of workers, which stamp dead letters, and of the distributor, which stamps ends, differ by less. */
export const LETTER_CLOCKS_DIFFER_MS = 3_600_000n;
/** Topics asked in one look for whether they are still the ones that jobs read: a call to the broker each. */
export const TOPICS_ASKED_AT_ONCE = 200;

/** A pin takes a few calls to the broker; what else is due comes in the next round, a second later. */
export const SERIES_RUNS_PER_ROUND_MAX = 8;
