/** Numbers of the guard, each with its reason. */

/** Retention is about hours and days; half a minute is soon enough, and a cycle reads two small topics. */
export const CYCLE_EVERY_MS = 30_000;
/** A cycle reads all jobs and marks anew: more often is a load on Kafka without a use. Tests go to it. */
export const CYCLE_EVERY_MS_MIN = 200;
/** An hour: a log grows by that much beyond its policy before anybody looks, and no policy is helped by more. */
export const CYCLE_EVERY_MS_MAX = 3_600_000;
/** Part of the period that is chance, so that two guards do not fence each other in step. */
export const CYCLE_JITTER = 0.2;

/** How often the jitter is added once more for each cycle given up: two periods, so that two guards soon miss each other. */
export const YIELD_SPREAD_FACTOR = 10;
/** Cycles given up in a row after which a guard waits no longer than before: by then its pause is drawn from ten periods. */
export const YIELDS_THAT_SPREAD = 5;

/** Partitions asked at the same time: the store is one server. */
export const SLICES = { atOnce: 32 };

/** A floor goes when its job ends, within a second; one that is still there so long after the end was left by a crash. */
export const STALE_FLOOR_AFTER_MS = 10 * 60_000;

/** What a job must hurry for is said again in each cycle; one that is given up or fails changes nothing. */
export const HURRY_CYCLES = 3;
/** Distributors heed it every few seconds: shorter, and it would come and go. */
export const HURRY_MS_MIN = 60_000;
/** When more jobs than that hold a log for too long, hurrying all of them hurries none. */
export const HURRIED_AT_ONCE = 1_000;

/** A century: what is longer was meant to be "for ever", which is to name no age. */
export const POLICY_AGE_MS_MAX = 100 * 365 * 86_400_000;

/** Removals by others that are remembered a partition: the newest tell enough, and the record stays small. */
export const REMOVALS_KEPT = 16;

/** With a cycle every half minute two hours: a night's batch counts, and last week's does not. */
export const GROWTH_SAMPLES_MAX = 240;
/** Between two cycles a segment is deleted or a batch written; only over some of them it says anything. */
export const GROWTH_SPAN_MS_MIN = 60_000;
/** What people look at may be so old; the marks topic, which every cycle reads whole, must not grow by it. */
export const VIEW_EVERY_MS = 120_000;
/** A day before a disk is full somebody must know. */
export const DISK_WARNING_MS = 86_400_000;
