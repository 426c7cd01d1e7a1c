/** Numbers of every run, whatever system it is about. */

/** What a run must have shown of every kind of fault. */
export const TIMES_EACH_MIN = 3;
export const MINUTES_DEFAULT = 3;
/** An hour of faults fills a log and a sink of some gigabytes; longer runs are many runs with other seeds. */
export const MINUTES_MAX = 60;
export const SEED_MAX = 2 ** 31 - 1;

/** Programs start and the first jobs run before the first fault. */
export const LEAD_MS = 8_000;

/** A new process takes the place of a dead one after this, as under an orchestrator. */
export const REPLACE_AFTER_MS = 1_000;
export const BROKER_DOWN_MS = { min: 1_000, max: 3_000 } as const;
/** A broker that was killed is let in again only when the controller has given up on its former life: 9 s by default. */
export const BROKER_SETTINGS = { 'broker.session.timeout.ms': '3000', 'broker.heartbeat.interval.ms': '500' } as const;
