/** How many records may be delivered more than once, from what was done to the programs. Pure. */

/** One range that a worker held when a fault hit it. */
export interface InHand {
  readonly chunkRecords: number;
  /** Whether its job parks records: then a batch of them may be in hand between two chunks. */
  readonly mayPark: boolean;
}

export interface RepeatTerms {
  /** Of every fault: the ranges held by the worker that it hit, or by all workers where it hits all. */
  readonly inHand: readonly InHand[];
  readonly parkedBatchRecords: number;
  /** Deliveries in the spans that a store which was lost may not have known durably, summed up over the losses. */
  readonly sinceCheckpoint: number;
}

/**
 *     bound = for each fault, for each range held by those that it hits: chunk + parked batch (of a job that parks)
 *           + deliveries since the last checkpoint before each loss of the store
 */
export function repeatBound({ inHand, parkedBatchRecords, sinceCheckpoint }: RepeatTerms): number {
  return inHand.reduce(
    (sum, { chunkRecords, mayPark }) => sum + chunkRecords + (mayPark ? parkedBatchRecords : 0),
    sinceCheckpoint,
  );
}

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * What a store that is lost at `lostAtMs` may have known and Kafka not: everything since `ageMs` before, where time in
 * which no checkpoint could be written (no broker, no distributor) does not count as age.
 */
export function uncheckpointedSpan(loss: {
  readonly lostAtMs: number;
  readonly ageMs: number;
  readonly outages: readonly Span[];
}): Span {
  let leftMs = loss.ageMs;
  let fromMs = loss.lostAtMs;
  for (const outage of loss.outages.toSorted((a, b) => b.toMs - a.toMs)) {
    if (outage.fromMs >= fromMs) continue;
    const ageMs = fromMs - Math.min(outage.toMs, fromMs);
    if (ageMs >= leftMs) break;
    leftMs -= ageMs;
    fromMs = outage.fromMs;
  }
  return { fromMs: fromMs - leftMs, toMs: loss.lostAtMs };
}
