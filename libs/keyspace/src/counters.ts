/** P10: what became of the offsets of a range, counted. A total, or what one move of the cursor adds to it. */

/**
 * Each offset that a cursor passed is exactly one of these: `cursor - start` is their sum, `end - start` when a range is done.
 * `parked` is what the cursor passed and nobody settled yet: it goes down again, and is 0 when a range is done.
 */
export const IDENTITY_TERMS = [
  'ok',
  'skipped',
  'deadLettered',
  'filtered',
  'markers',
  'compacted',
  'lost',
  'parked',
] as const;

/** In the order in which the store's scripts get and give them. The last three count work, not offsets. */
export const COUNTER_NAMES = [...IDENTITY_TERMS, 'retries', 'chunks', 'maybeRedelivered'] as const;

/**
 * `retries` are handler attempts beyond the first, `chunks` those handled to their end; `maybeRedelivered` is an upper bound,
 * in offsets, of what takeovers may have delivered again. The stored record of the same shape is `Counters` in @tidemark/contracts.
 */
export type RangeCounters = Readonly<Record<(typeof COUNTER_NAMES)[number], bigint>>;

export const NO_COUNTS: RangeCounters = {
  ok: 0n,
  skipped: 0n,
  deadLettered: 0n,
  filtered: 0n,
  markers: 0n,
  compacted: 0n,
  lost: 0n,
  parked: 0n,
  retries: 0n,
  chunks: 0n,
  maybeRedelivered: 0n,
};

/** The offsets that the counters explain. */
export function explainedOffsets(counters: RangeCounters): bigint {
  return IDENTITY_TERMS.reduce((total, term) => total + counters[term], 0n);
}

export function sumCounters(counters: readonly RangeCounters[]): RangeCounters {
  const sum = { ...NO_COUNTS };
  for (const each of counters) for (const name of COUNTER_NAMES) sum[name] += each[name];
  return sum;
}
