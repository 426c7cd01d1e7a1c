/** Numbers of a guarded log under faults, each with its reason. */

export const GUARDS = 2;
/** Often, so that a fault comes in the middle of a cycle, and two cycles meet. */
export const GUARD_EVERY_MS = 1_000;

/** A slow job needs its records for longer than either policy would keep them. */
export const SERIES_STREAM = { name: 'orders', partitions: 3, policy: '6s' } as const;
export const GROUP_STREAM = { name: 'chat', partitions: 2, policy: '15s+16KiB' } as const;
/** Of the larger age, and the clock of a busy broker. */
export const POLICY_PASSED_MS = 17_000;
/** Less than lies there: the newest records stay, and of the others a job loses what it has not read, when its floor is released. */
export const RELEASED_STREAM = { name: 'released', partitions: 1, policy: '256KiB', hold: '8s/20s' } as const;
/** The same, without a second time: its floor holds for ever, whatever the alarm says. */
export const KEPT_STREAM = { name: 'kept', partitions: 1, policy: '256KiB', hold: '8s' } as const;
/** From the pin on, as `hold` of the stream says it. */
export const RELEASE_AFTER_MS = 20_000;
/** Of 1.5 KB each, so the policy cuts at some 830, and a job that is paused has not come so far. */
export const HELD_RECORDS = 1_000;
/** So slow that a job is on its way when it is paused, and at its end soon after it was resumed. */
export const HELD_RATE = 60;
/** A guard looks each second; this is for a machine that does other things. */
export const HOLD_TOLD_MAX_MS = 90_000;

/** The topic that strangers delete from is the guards', too, who leave it alone: what goes there is told as the doing of others. */
export const CUT_POLICY = '30d';
/** Few, so that most of the time no slot is free of nothing to do and none waits for another. */
export const FILL_PER_SECOND = 200;

export const SERIES = 'steady';
export const SERIES_EVERY = '7s';
export const GROUP = 'billing';
/** Longer than the policy of its topic keeps what it has not committed. */
export const GROUP_COMMIT_EVERY_MS = 9_000;
/** A member learns of new partitions this late. */
export const GROUP_METADATA_MS = 3_000;

export const REQUEST_EVERY_MS = 1_500;
export const OPEN_JOBS_MAX = 5;
/** In each partition of the window of a slow job, at a quarter of a second each. */
export const SLOW_RECORDS = 40;
export const FAST_RECORDS = 300;

/** Requests of one race, for the very records that are cut next. */
export const RACERS = 4;
export const RACER_RECORDS = 40n;
/** From the look at the log to the request: often a guard has cut meanwhile, or is about to. */
export const RACER_PAUSE_MS = { min: 0, max: 1_200 } as const;

/** Somewhere in a cycle. */
export const BEFORE_KILL_MS = { min: 0, max: 1_200 } as const;
/** Some cycles of the other guard. */
export const STOPPED_MS = { min: 2_500, max: 5_000 } as const;

export const SAMPLE_EVERY_MS = 300;
/** A guard that was killed in the middle of a transaction holds the account back for longer: then only the rest is looked at. */
export const ACCOUNT_WAIT_MS = 300;
/** How far the planted deletion goes beyond what is needed. */
export const BROKEN_RECORDS = 20n;

/** After the load: what is open ends, and the series has run up to the end of the log. */
export const DRAIN_MAX_MS = 240_000;
export const QUIET_CYCLES = 2;
/** A program that is asked to stop, on a busy machine. */
export const STOP_MAX_MS = 30_000;
export const TOLD_MAX = 8;
