/** Waiting times of tests, each with its reason. */

/** A loaded machine with two cores answers a poll late; longer than this is a hang. */
export const WAIT_TIMEOUT_MS = 60_000;
export const WAIT_INTERVAL_MS = 25;

/**
 * The console consumer ends when nothing came for so long, where nobody knows how much will come. Finding the broker takes
 * 2 s when other virtual machines start beside it, and has taken more than 8 s on a loaded machine.
 */
export const CONSOLE_IDLE_MS = 15_000;

/** A tool that has not ended by then hangs. */
export const TOOL_TIMEOUT_MS = 180_000;

/** Of a broker that other tests keep busy, on a machine that stands still for seconds. The client's own bounds are 30 s, and 5 s for topics. */
export const REQUEST_TIMEOUT_MS = 90_000;
export const TOPIC_REQUEST_TIMEOUT_MS = 60_000;

/** An open transaction of a test is ended by the test; after the client's 60 s the broker would abort it under a slow one. */
export const TRANSACTION_TIMEOUT_MS = 600_000;

/** One service alone, on a machine that may start several. */
export const PRIVATE_START_TIMEOUT_MS = 90_000;

/** An orderly end is waited for: what a killed service leaves is repaired at its next start. */
export const PRIVATE_STOP_TIMEOUT_MS = 120_000;

/** After SIGKILL Postgres' sessions need a moment to notice, and a new server is refused until then. */
export const PRIVATE_START_ATTEMPTS = 10;

/** Four containers at once, the registry after its broker, on a loaded machine; pulling the images is not counted. */
export const CONTAINERS_START_TIMEOUT_MS = 300_000;

/** Above the stack's own block, below the ephemeral range, where any outgoing connection may sit. */
export const PRIVATE_PORT_FIRST = 20_000;
export const PRIVATE_PORT_COUNT = 12_000;

/** A broker of a test holds little. */
export const PRIVATE_KAFKA_HEAP_MEGABYTES = 384;

/** A busy broker tells of a new topic late; several private ones may be starting. */
export const TOPIC_READY_TIMEOUT_MS = 60_000;

/** A program prints its first lines within a second or two; started by another, on a loaded machine, it has taken more than a minute. */
export const PROGRAM_LOG_WAIT_MS = 150_000;

/** Enough to see what a program did before it ended. */
export const LOG_LINES_KEPT = 2_000;
