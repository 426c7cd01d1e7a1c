/** Every bound of this room, with its reason. Bytes are bytes, times are milliseconds. */
import { toOffset } from '@tidemark/keyspace';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

/** A fetch asks for the chunk's bytes, within these: below 64 KiB a round trip costs more than it brings. */
export const FETCH_BYTES_MIN = 64 * KIBIBYTE;
/**
 * More does not read faster (measured), a reader may hold two answers, and buffers of this size die young: with 1 MiB they
 * outlived two scavenges, and a worker at 600,000 records a second kept 80 MB more than with this.
 */
export const FETCH_BYTES_MAX = 384 * KIBIBYTE;
/** One `read` takes at most so many answers, so that a long stretch of holes still returns control (with progress). */
export const ANSWERS_PER_READ_MAX = 16;
/** The broker's hold of an empty answer must stay well below the request timeout. */
export const FETCH_WAIT_MS_MAX = 10_000;

/**
 * With the backoff below between 1.5 and 3 s in all, enough for an election. After that the caller sets the pace: until a
 * request succeeds again each call tries once, or the slots of a worker would storm a broker that is down.
 */
export const FETCH_ATTEMPTS_MAX = 6;
export const RETRY_BACKOFF_MS_MIN = 100;
export const RETRY_BACKOFF_MS_MAX = 2_000;
/** A restarting broker does not know its topics yet: so many answers in a row must agree that a topic is gone or another. */
export const IDENTITY_OBSERVATIONS = 3;
/** So many empty answers below the last stable offset in a row prove that compaction took the rest. */
export const EMPTY_OBSERVATIONS = 3;

/** An out-of-range answer that the offsets deny is a leader behind its followers; it catches up or does not answer well. */
export const OUT_OF_RANGE_ANSWERS_MAX = 3;

/** What the length before an answer may say: above any sensible `max.message.bytes`, below what four letters of another protocol say. */
export const ANSWER_BYTES_MAX = 256 * MEBIBYTE;

export const CONNECT_TIMEOUT_MS = 3_000;
export const REQUEST_TIMEOUT_MS = 20_000;

/** Below the broker's default `max.message.bytes` (1 MiB); larger batches bring nothing. */
export const BATCH_BYTES_MAX = 512 * KIBIBYTE;
/** Bounds what one batch of tiny records holds; above it nothing is gained. */
export const BATCH_RECORDS_MAX = 2_000;
/** What one produce request carries over all partitions: bounds the memory of a large append. */
export const PRODUCE_REQUEST_BYTES_MAX = 4 * MEBIBYTE;
/** A topic's partition count and size limit are asked again after this; both change rarely and only by a person. */
export const TOPIC_FACTS_TTL_MS = 30_000;

/** CONCURRENT_TRANSACTIONS right after a commit clears within milliseconds; 300 ms (the client's default) would stall. */
export const PRODUCER_RETRY_MS_MIN = 5;
export const PRODUCER_RETRY_MS_MAX = 1_000;
/** With the two above about 6 s in all. */
export const PRODUCER_RETRIES_MAX = 12;
/** How long the coordinator lets a transaction stay open after its producer died: it holds readers back for that long. */
export const TRANSACTION_TIMEOUT_MS = 15_000;

/** A new topic is visible everywhere within this, or something is wrong. */
export const TOPIC_CREATION_WAIT_MS = 15_000;
export const TOPIC_CREATION_POLL_MS = 50;

/** For readers that take whatever comes: beyond every offset, so the answer is what there is. */
export const NO_END = toOffset(2n ** 63n - 1n);

/** Scans of our own topics: small records, so the count decides. */
export const SCAN_CHUNK_RECORDS = 2_000;
export const SCAN_CHUNK_BYTES = MEBIBYTE;
/** Longer than any transaction of ours can stay open. */
export const SCAN_OPEN_TRANSACTION_WAIT_MS = 30_000;
export const SCAN_WAIT_MS = 200;
/** A follower is idle most of the time; the broker answers at once when something comes. */
export const FOLLOW_WAIT_MS = 500;

/** Where a partition is sampled for the size of its records: at its start and at its thirds. */
export const SAMPLE_PLACES = 3;
export const SAMPLE_RECORDS = 200;
/** One fetch; a bigger answer would cost more than the estimate is worth. */
export const SAMPLE_BYTES = 256 * 1024;
export const SAMPLE_WAIT_MS = 100;
