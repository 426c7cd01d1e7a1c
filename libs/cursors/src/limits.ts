/** Every bound of this room, with its reason. Times are milliseconds. */

/** Longer than any sane lease: what a crashed owner holds is out of reach that long. */
export const LEASE_TTL_MS_MAX = 3_600_000;

/** A range that is put off further than a day is not waiting, it is forgotten. */
export const RELEASE_DELAY_MS_MAX = 86_400_000;

/** A reservation bridges a pin, which takes seconds; one that outlives its pin by a day would only hold the log back. */
export const RESERVATION_TTL_MS_MAX = 86_400_000;

/** Notes are sentences for people; an error text with a payload inside must not grow the store. */
export const NOTE_CHARACTERS_MAX = 500;

/** A slice of an install blocks the store for about a millisecond (13 us a range, measured on a busy machine). */
export const INSTALL_SLICE_RANGES = 100;

/** Writing this many parked records, or lost intervals, blocks the store about as long as writing one range. */
export const PARKED_PER_RANGE = 10;

/**
 * Intervals of lost offsets that a range keeps; what comes on top is counted only. A truncation costs one interval and one for
 * each parked record that lies apart, so this bounds a log that is cut again and again under one range: 25 KiB of its checkpoint.
 */
export const PASSED_INTERVALS_MAX = 1_000;

/** Places filled at the same time: the store is one server, more at once only queue there. */
export const FILL_PLACES_AT_ONCE = 32;

/** An install that is torn down under its feet (a concurrent removal) starts over; more than this is a quarrel. */
export const INSTALL_ATTEMPTS_MAX = 3;

/** The index changes only by a split or an install; five changes between listing and script in a row are a fault. */
export const SNAPSHOT_ATTEMPTS_MAX = 5;

/** A worker asks for a handful; the bound keeps a mistaken caller from reading a whole job. */
export const CANDIDATES_MAX = 1_000;
export const PROPOSALS_MAX = 1_000;
/** Of single proposals, every such turn is of the job that waited longest: urgent jobs get the others. */
export const LONGEST_WAITING_TURNS = 8;

/** A worker announces itself every 5 s; three missed announcements are silence. */
export const WORKER_SILENT_AFTER_MS = 15_000;

/** Dead workers stay visible for operators this long after their last announcement. */
export const WORKER_FORGOTTEN_AFTER_MS = 600_000;

/** What a job was said to wait for is said again every few seconds while it is true. */
export const WAITING_FORGOTTEN_AFTER_MS = 30_000;

/** Who says that a job must hurry says it again in every cycle; of a cycle an hour, three. */
export const HURRY_TTL_MS_MAX = 3 * 3_600_000;
/** Said at once: one script, and more jobs than that hold no log longer than they may, or all of them do. */
export const HURRIED_MAX = 1_000;

/** An idle bucket lets one second of its rate through at once: enough for the chunks of all slots, too little to hurt a sink. */
export const RATE_CREDIT_US = 1_000_000;
/** A booking further ahead than a day is no booking; it also keeps the sums of microseconds exact. */
export const RATE_WAIT_MS_MAX = 86_400_000;

/** One call tries this long before it says `unavailable`: over a restart or a short failover, below a usual lease. */
export const RETRY_FOR_MS = 5_000;
export const RETRY_DELAYS = { baseMs: 20, maxMs: 1_000, fixedPart: 0.5 } as const;

/** SCRIPT FLUSH may come between loading and calling; a store that loses scripts faster than this is broken. */
export const SCRIPT_RELOADS_MAX = 5;

export const CONNECT_TIMEOUT_MS = 2_000;
/** A line that swallows a command without an answer is cut after this; no script of ours runs a tenth as long. */
export const SOCKET_TIMEOUT_MS = 4_000;
export const RECONNECT_DELAY_MS_MAX = 500;
