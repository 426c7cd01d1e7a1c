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
/**
 * A look that goes on where the last one ended hears of a removal by its tombstone, which the broker keeps for a day
 * (`delete.retention.ms`): after a longer pause everything is read anew.
 */
export const READ_ANEW_AFTER_MS = 12 * 3_600_000;
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
/** Series in one answer, and whose topics are asked for their ends. */
export const SERIES_SHOWN_MAX = 100;
/** How long a run may be due before it is told: a distributor looks once a second. */
export const SERIES_LATE_AFTER_MS = 15_000n;
/** Runs of one series in one answer, the newest. */
export const RUNS_SHOWN_MAX = 20;
/** Partitions of a series that are told apart in a list; its page has all. */
export const HELD_PARTITIONS_SHOWN_MAX = 4;
/** Partitions whose floors are asked for in a round: one script each, for jobs first and for series then. */
export const FLOOR_PLACES_MAX = 1_024;

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

/** An order is a few words, and its reason as long as a note. */
export const BODY_BYTES_MAX = 16 * 1_024;
/** Reasons and notes, as requests bound them. */
export const REASON_CHARACTERS_MAX = 2_000;
/** Parts of an address: a topic name has 249 characters, and none of them grows when it is written in one. */
export const ADDRESS_PART_CHARACTERS_MAX = 300;
/** How long a page waits for the distributor; what was ordered is applied later all the same. */
export const ORDER_WAIT_MS = 15_000;
/** Guessing a shorter one is possible. */
export const TOKEN_CHARACTERS_MIN = 16;

/** Letters come seldom, and the look asks for a topic a time. */
export const LETTER_TOPICS_EVERY_MS = 5_000;
/** Topics that are asked for dead letters; those of the newest jobs. */
export const LETTER_TOPICS_MAX = 64;
/** Topics whose letters stay counted by what went wrong; those that were looked at last. */
export const LETTER_INDEXES_KEPT = 8;
/** Of one round: reading on must not delay the news of everything else. */
export const LETTER_INDEX_LOOK_MS = 400;
export const LETTER_INDEX_STEP = 5_000n;
/** Groups in one answer, the largest first; more are counted. */
export const LETTER_GROUPS_SHOWN_MAX = 100;
/** Texts of letters in a group: anybody may write such headers. */
export const LETTER_TEXT_CHARACTERS_MAX = 600;
/** Letters of one page. With their previews they stay below 512 KiB. */
export const LETTERS_SHOWN_MAX = 200;
/** What one look for a page may read; a search is such looks one after the other, and ends when nobody asks for the next. */
export const LETTER_LOOK_OFFSETS_MAX = 50_000n;
export const LETTER_LOOK_MS = 700;
/** Characters of a key, a value or an error in a list. */
export const LIST_PREVIEW_CHARACTERS = 160;
/** Values that are decoded for a list; of larger ones the beginning is shown as it is. */
export const LIST_DECODED_BYTES_MAX = 16 * 1_024;
/** Characters of a value on its own page, and bytes of it in base64; all of it is a download. */
export const VALUE_PREVIEW_CHARACTERS = 64 * 1_024;
export const VALUE_BASE64_BYTES = 16 * 1_024;
/** Values that are decoded for their page: decoding takes as much memory again, and a longer text is not read. */
export const VALUE_DECODED_BYTES_MAX = 1_024 * 1_024;
/** Headers of one letter, and characters of each. */
export const HEADERS_SHOWN_MAX = 100;
export const HEADER_PREVIEW_CHARACTERS = 1_024;
/** The body of a correction: a record of default size in base64, and a little. */
export const EDIT_BODY_BYTES_MAX = 2 * 1_024 * 1_024;
/** Plans of redrives under way: each reads an archive twice. */
export const PLANS_AT_ONCE_MAX = 2;
/** Rounds that a redrive takes without being told, as on the command line. */
export const ROUNDS_MAX_DEFAULT = 10;
