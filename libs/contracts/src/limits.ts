/** How long an id stays "unknown" before the registry is asked again: at most 4 calls a minute for one bad id, and a schema that appears late is found soon. */
export const UNKNOWN_ID_REMEMBERED_MS = 15_000;

/** Unknown ids kept in mind; random bytes behind a zero must not fill the memory. The oldest are forgotten. */
export const UNKNOWN_IDS_MAX = 1_000;

/** How long the newest schema of a user's topic is taken as the newest without asking. */
export const NEWEST_SCHEMA_TRUSTED_MS = 30_000;

/** One request to the registry. A local registry answers in milliseconds; a far one under load in a second or two. */
export const REGISTRY_REQUEST_MS = 5_000;

/** One question to the registry with its retries, after which it counts as unavailable. */
export const REGISTRY_DEADLINE_MS = 15_000;

/** Repeats of a request that got no answer or a 5xx. More patience is the caller's: it knows what waits behind it. */
export const REGISTRY_RETRIES = 2;
export const REGISTRY_RETRY_BASE_SECONDS = 0.1;

/** Tries of a registration that meets others: one for a level already chosen, one for each of two races. */
export const REGISTER_TRIES_MAX = 4;

/** A JSON exponent beyond this writes out a number longer than anything that fits an Avro type. */
export const EXPONENT_MAX = 400;

/** Digits of a decimal: what Postgres' numeric can hold before its decimal point is 131,072; nobody's schema asks for more than this. */
export const DECIMAL_DIGITS_MAX = 2_000;

/** Types and sources of events whose headers are shared; there are few of either. */
export const SHARED_HEADERS_MAX = 1_000;
