/** Policies that the scenarios guard by. */
/** Nothing is kept beyond what is needed. */
export const EVERYTHING = { ageMs: 0, bytes: undefined };
export const A_DAY_MS = 86_400_000;
/** Longer than any record of a test is old. */
export const A_WEEK = { ageMs: 7 * A_DAY_MS };
