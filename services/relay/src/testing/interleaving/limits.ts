/** Numbers of the checker over the relay, each with its reason. */

/** A take-over is to come often, not to be waited for. */
export const LEASE_TTL_MS = 300;
/** Two take turns, and a third is there when one is stopped and one killed. */
export const RELAYS_MAX = 3;
/** Between two deeds: long enough that something is published meanwhile; from, to. */
export const DEED_PAUSE_MS = [30, 200] as const;

/** How long an overtaking may take to come about: two leases, but on a busy machine; and the older one's commit in it. */
export const OVERTAKING_MS_MAX = 30_000;

export const PARTITIONS = 3;
/** Bytes of a record that a topic takes: small rows only, and all. */
export const TAKES_SMALL = 2_000;
export const TAKES_ALL = 100_000;

/** How long rows may wait after the last was written: longer than any pause of a relay and any time-out of a transaction. */
export const CATCH_UP_MS_MAX = 120_000;
/** With so short a lease rivals may keep each other from publishing for ever on a busy machine: after this long one is left. */
export const RIVALS_MS_MAX = 30_000;
/** Between two looks. */
export const LOOK_MS = 20;
