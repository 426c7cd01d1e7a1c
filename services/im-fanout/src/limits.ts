/** Sizes and defaults of the fan-out, each with its reason. */

/** One connection a slot is enough (a batch is one transaction); a worker has four slots by default. */
export const POSTGRES_CONNECTIONS_MAX = 4;

/** A dead address is noticed well inside the lease. */
export const POSTGRES_CONNECT_TIMEOUT_MS = 5_000;

/** A chunk of 100 messages is some 6,000 inbox rows: 100 ms of Postgres, so a stop or a takeover costs little. */
export const CHUNK_RECORDS = 100;

/** A chunk writes 6,000 rows on the average and 60,000 when it is all in the largest groups: seconds, on a busy machine a minute. */
export const BATCH_TIMEOUT_MS = 120_000;

/** Inbox rows asked for in one statement of an audit: some 100 ms, and a megabyte of keys. */
export const VERIFIED_ROWS_MAX = 20_000;

/** A Postgres identifier has at most 63 bytes; no quotes are needed for these characters. */
export const SCHEMA_NAME_PATTERN = /^[a-z_][a-z0-9_]{0,62}$/;
