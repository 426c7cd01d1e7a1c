/** Limits of what one request may ask for, each with the reason for the number. */

/** Memory of a slot is O(chunk): beyond this many records a chunk no longer pays, and its replay after a crash hurts. */
export const CHUNK_RECORDS_MAX = 100_000;
export const CHUNK_BYTES_MIN = 1024;
/** Two chunks per slot are held (one handled, one prefetched): 64 MiB keeps a worker of four slots near half a gigabyte. */
export const CHUNK_BYTES_MAX = 64 * 1024 * 1024;
/** A parked set is part of its range's checkpoint: this many are about 400 KiB of a record that may have 1 MiB. */
export const PARKED_MAX = 10_000;
/**
 * Lost intervals that the state of a job names, about 200 KiB of a record that may have 1 MiB. Its totals count them all, and the
 * checkpoints of its ranges name more.
 */
export const LOST_INTERVALS_MAX = 10_000;
/** Nobody comes back to a proof after a quarter of a year, and a forgotten hold fills a disk. */
export const HOLD_FOR_AUDIT_MS_MAX = 90n * 86_400_000n;
/** Clocks of writers are apart by seconds, buffers of devices by days; beyond a year nothing is known of the order. */
export const DISORDER_MS_MAX = 366n * 86_400_000n;
/** Partitions in a sentence of the audit trail; the state has all of them. */
export const RELEASES_NAMED_MAX = 10;
/** Command ids that a job remembers: whoever sends a command again does it within the next few, and a state stays small. */
export const COMMAND_IDS_MAX = 32;
/** In-place retries back off up to seconds each: more of them only hide a record that will never succeed. */
export const ATTEMPTS_MAX = 100;
/** A request must fit into a record of default size (1 MiB) together with its state and pin. */
export const PARAMETERS_MAX = 100;
export const PARAMETERS_BYTES_MAX = 64 * 1024;
export const NOTE_LENGTH_MAX = 2_000;

/** 10^11 ms is 3 March 1973, before Kafka; as seconds it is the year 5138: numbers below are seconds by mistake. */
export const EPOCH_MS_MIN = 100_000_000_000;
/** 10^14 ms is the year 5138: numbers from here on are micro- or nanoseconds by mistake. */
export const EPOCH_MS_MAX = 99_999_999_999_999;

/** Partitions a window text may name; the text has to fit into a command line. */
export const NAMED_PARTITIONS_MAX = 10_000;

/** Keeps the headers of a dead letter of constant size, whatever a handler throws; the faults of a request fit. */
export const DEAD_LETTER_ERROR_BYTES_MAX = 512;

/** A follower of a topic that nobody created yet asks this often. */
export const FOLLOW_MISSING_TOPIC_MS = 500;
/** Requests are applied one by one, each in a transaction: more at once would only wait in memory. */
export const INBOX_CHUNK_RECORDS = 200;
export const INBOX_CHUNK_BYTES = 4 * 1024 * 1024;
/** An open transaction on the jobs topic is the relay's and short; asking faster only loads the broker. */
export const OPEN_TRANSACTION_POLL_MS = 20;

/** A range of fewer offsets is settled within seconds: cutting further costs more looks and checkpoints than it saves. */
export const SPAN_MIN = 50_000n;
/** Enough ranges for sixteen workers of four slots; whoever has more says so, or the live split cuts on. */
export const AUTOMATIC_RANGES_MAX = 64n;

/** Of the built-in webhook. Below, a healthy server far away would not be heard; above, one record holds its chunk up too long. */
export const WEBHOOK_TIMEOUT_MS = 10_000;
export const WEBHOOK_TIMEOUT_MS_MIN = 100;
export const WEBHOOK_TIMEOUT_MS_MAX = 60_000;

/** A job id has room for the number of a run behind the name. */
export const SERIES_NAME_CHARACTERS_MAX = 100;
/** A distributor looks at what is due once a second. */
export const SERIES_EVERY_MS_MIN = 1_000n;
/** Whoever means less than once a year means something else. */
export const SERIES_EVERY_MS_MAX = 366n * 86_400_000n;
/** Ids of orders that a series remembers, as of commands to a job. */
export const ORDER_IDS_MAX = 32;
/** Clocks of two machines differ by less; a clock that was further ahead was wrong. */
export const CLOCK_SET_BACK_MS_MIN = 60_000n;
