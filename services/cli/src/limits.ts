/** Every bound of the command line, with its reason. */

/** For a person who waits at a prompt. */
export const CONNECT_TIMEOUT_MS = 5_000;
/** Between two chunks every range waits for something; only what lasts is told. */
export const WAIT_TOLD_AFTER_MS = 2_000;
/** Of work that goes on for minutes, in a log: enough to see it move. */
export const PROGRESS_TOLD_EVERY_MS = 5_000;
/** Ranges in the table of a job: more than a person reads; programs get all of them. */
export const RANGES_LISTED_MAX = 200;
/** Lost intervals of a job on a page; programs get all of them. */
export const LOST_LISTED_MAX = 50;
/** Records of `topic read`: a screen or two; more is asked for by name. */
export const RECORDS_READ_DEFAULT = 100;
/** Of an export, before they are written: few system calls, little memory. */
export const EXPORT_BUFFER_CHARACTERS = 1024 * 1024;
/** Of `up`: more than a development machine has use for. */
export const WORKERS_MAX = 64;
/** Of `relay rebase`: events without a row in the table; programs get a thousand. */
export const EXTRA_EVENTS_SHOWN_MAX = 20;

/** Rows of a sink that are fetched at once: a page of some hundred kilobytes. */
export const EFFECTS_PAGE_ROWS = 10_000;
/** Of an audit those with something to say come first. */
export const AUDITED_RANGES_LISTED_MAX = 50;
/** Effects of each kind that are named over all ranges: enough to look into one. */
export const EFFECTS_NAMED_MAX = 10;

/** What failed so often will not be mended by handing it over once more. */
export const ROUNDS_MAX_DEFAULT = 10;
