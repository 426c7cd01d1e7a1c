/** Bounds that several rooms keep, each with its reason. */

/** Leaves room in Postgres' 63-byte names for the trigger, function and channel names that begin with the schema. */
export const NAMESPACE_CHARACTERS_MAX = 40;
/** A job id stands in keys, transactional ids, log lines and on command lines: room for a UUID with a prefix, not for prose. */
export const JOB_ID_CHARACTERS_MAX = 128;
/** Handler names are labels of metrics and words in notes. */
export const HANDLER_NAME_CHARACTERS_MAX = 64;
/** Kafka's own limit. */
export const TOPIC_NAME_CHARACTERS_MAX = 249;

/** 10,000 ranges are about 2.5 MiB of checkpoints in one transaction, and one look at them blocks the store for 85 ms (35 ms for 4,096, measured). */
export const RANGES_PER_JOB_MAX = 10_000;

/** setTimeout counts in int32 milliseconds and fires at once beyond them. */
export const TIMER_MS_MAX = 2 ** 31 - 1;
