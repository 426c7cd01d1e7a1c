/** Limits of the test kit, each with its reason. */

/** Every interruption costs two runs of the chunk or more: beyond this a test takes minutes and says no more than a short one. */
export const INTERRUPTIONS_MAX = 2_000;

/** A call that is not answered for this long waits for a lock that the held owner has; a slow one costs only its place. */
export const PATIENCE_MS = 250;

/** A handler that hangs is named instead of the test's own limit; a loaded machine may stand still for twenty seconds. */
export const DEADLINE_MS = 60_000;

/** As often does the kit hand over a record that fails in a way worth another try. */
export const ATTEMPTS = 3;

/** What is printed: enough to see the pattern. */
export const FAILURES_SHOWN = 5;
export const FAILURES_NAMED = 30;
export const DIFFERENT_LINES_SHOWN = 12;
export const STEP_NAME_MAX = 80;
