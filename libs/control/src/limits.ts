/** Waiting times and bounds of the control library, each with its reason. */

/** A distributor answers within a second; a starting one restores its store first. */
export const ANSWER_TIMEOUT_MS = 30_000;

/** Looks at the store under way at the same time for a list of jobs: one script each, and the store has others to serve. */
export const LOOKS_AT_ONCE = 16;

/** How often a live view looks at the cursor store: one script a look. */
export const WATCH_INTERVAL_MS = 250;
/** A look at 10,000 ranges blocks the store for 85 ms: a watcher rests for ten times as long as he looked. */
export const WATCH_REST_FACTOR = 10;

/** A wait that is younger is no news: between two chunks everybody waits for something. */
export const MOMENT_MS = 1_000;
/** The pace is that of the last so many: long enough to smooth over chunks, short enough to notice a stall. */
export const PACE_WINDOW_MS = 10_000;

/** Read-back of checkpoints and topics: as much as one fetch brings. */
export const READ_CHUNK_RECORDS = 1_000;
export const READ_CHUNK_BYTES = 4 * 1024 * 1024;

/** An answer without news comes back after this long, so that a stop is noticed. */
export const READ_WAIT_MS = 500;

/** Whoever does not accept a connection within this time is down, for a person who waits at a prompt. */
export const REACH_TIMEOUT_MS = 5_000;

/** The newest record of a key is looked for in the last offsets of its topic first, then in pieces so many times larger. */
export const TAIL_OFFSETS_FIRST = 256n;
export const TAIL_WIDENING = 16n;

/** Ranges that an audit reads at the same time: as many as a worker has slots, so that round trips hide behind one another. */
export const RESCANS_AT_ONCE = 4;
/** Records of a range without an effect, with several or with an unknown one that an audit names: enough to look into one. */
export const NAMED_EFFECTS_MAX = 10;
/** Calls of a handler's `verify` that fail one after the other before nobody asks it any more: bad records do not come in so many batches. */
export const ASK_FAILURES_MAX = 10;

/** Groups of dead letters that are told apart: nobody reads more, and texts of handlers may be all different. */
export const LETTER_GROUPS_MAX = 1_000;
/** Between two looks at a transaction that is being completed: it takes milliseconds. */
export const SETTLE_LOOK_MS = 20;

/** Letters of one key that an edit copies behind the corrected one: they are held in memory, and written in one transaction. */
export const EDIT_FOLLOWERS_MAX = 1_000;
export const EDIT_FOLLOWERS_BYTES_MAX = 32 * 1024 * 1024;
/** Records with several letters are named in the request of a redrive, whose parameters have room for 64 KiB in all. */
export const NEWEST_CHARACTERS_MAX = 60_000;

/** A window that is not larger is counted, not estimated: it takes one fetch or two. */
export const COUNTED_ALWAYS_OFFSETS = 1_000n;
export const COUNTED_ALWAYS_BYTES = 4 * 1024 * 1024;
