/** How long a program may take to stop. Orchestrators kill after 30 s by default; this stays below it. */
export const STOP_GRACE_MS = 25_000;

/** How long a program that is told to stop while it starts may take to notice: nothing is in flight yet that could be lost. */
export const START_GRACE_MS = 5_000;

/** Objects inside log fields deeper than this are written as text: fields are flat by design, the limit stops cycles. */
export const LOG_DEPTH_MAX = 4;

/** Elements of an array inside a log field; the rest is counted, so that a line stays readable. */
export const LOG_ARRAY_MAX = 50;

/** A probe answers from memory; a client that takes longer than this to send its request is not a probe. */
export const PROBE_REQUEST_MS = 5_000;

/** More brokers than anybody keeps copies on. */
export const REPLICATION_FACTOR_MAX = 32;

/** First of the local stack's ten ports, and the place of each service among them (infra/stack uses the same ones). */
export const STACK_PORT_DEFAULT = 19_090;
export const STACK_PORT_OFFSETS = { kafka: 2, postgres: 4, registry: 5, redis: 7 } as const;
