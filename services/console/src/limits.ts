/** Every bound of the console, with its reason. Times are milliseconds unless the name says otherwise. */

/** The last of the ten ports that the local stack keeps free for this checkout. */
export const PORT_DEFAULT = 19_099;

/** A person sees a second; the services are asked once in it, however many people watch. */
export const ROUND_MS = 1_000;
/** How long one look may keep those waiting that build on it; it goes on by itself. */
export const LOOK_WAIT_MS = 700;
/** A view that is older tells of another time: it is unknown then, with the reason. */
export const STALE_AFTER_MS = 6_000;
/** Whoever asks once (a page load, a scrape, a probe) gets a look that is no older than this, */
export const FRESH_MS = 2_000;
/** and waits no longer than this for it: a scrape must answer within a second. */
export const FRESH_WAIT_MS = 800;
/** The registry changes rarely, and its fault stops nothing that runs. */
export const REGISTRY_EVERY_MS = 5_000;
export const REGISTRY_TIMEOUT_MS = 3_000;
/** Opening Redis anew after a failure. */
export const REOPEN_AFTER_MS = 2_000;

/** Jobs whose ranges are asked in a round: one script each. The newest first. */
export const JOBS_FOLLOWED_MAX = 100;
/** Jobs in one answer; a page that lists more is not read. */
export const JOBS_SHOWN_DEFAULT = 100;
export const JOBS_SHOWN_MAX = 1_000;
/** Topics whose ends are asked in a round. */
export const TOPICS_MAX = 64;
/** Partitions in one answer and in /metrics; a series each, twice. */
export const PARTITIONS_SHOWN_MAX = 512;
/** Holders named per partition, those with the lowest floors first. */
export const HOLDERS_SHOWN_MAX = 3;
/** Ranges of one job in one answer. */
export const RANGES_SHOWN_MAX = 1_000;
/** Parked keys of the relay in one answer; their list is bounded anyhow. */
export const PARKED_KEYS_SHOWN_MAX = 100;
/** Lost intervals of one job in one answer. */
export const LOST_SHOWN_MAX = 100;

/** Reads of single records for their timestamps in a round: some milliseconds each. */
export const AGE_READS_PER_ROUND = 24;
/** A cursor that moves passes its looked-up record; the older one bounds the age for so long. */
export const AGE_BOUND_MS = 10_000;

/** Ended jobs whose ranges were read from the checkpoints: they do not change any more. */
export const ENDED_JOBS_KEPT = 16;

/** One stream a visible tab; more than this is no team of people. */
export const STREAMS_MAX = 64;
/** Until a browser opens a stream anew: soon enough for a person, and no storm when the console comes back. */
export const STREAM_RETRY_MS = 2_000;

/** Requests are short texts; nobody sends a body. */
export const BODY_BYTES_MAX = 1_024;
