/**
 * Where to cut ranges of a running job, so that no slot is idle while another has much left. Pure: the store says in the end
 * whether a cut is above the horizon, which may have moved since.
 *
 *     start        cursor   horizon            at              end
 *       |  settled   | claimed |  left to the owner | the new range |
 */
import type { RangeState, WorkerAnnouncement } from '@tidemark/cursors';
import { Ordering } from '@tidemark/jobs';
import { type Offset, type RangeRef, toOffset } from '@tidemark/keyspace';
import { SLOTS_UNTOLD, SPLIT_RANGES_MAX, SPLIT_REST_MIN, SPLITS_PER_ROUND_MAX } from './limits.ts';

export interface Split {
  readonly range: RangeRef;
  readonly at: Offset;
}

export interface SplitQuestion {
  readonly ordering: string;
  /** The cap of the job; 0 = none. */
  readonly concurrency: number;
  readonly chunkRecords: number;
  readonly ranges: readonly Pick<RangeState, 'partition' | 'start' | 'end' | 'horizon' | 'status'>[];
  /** As many as the workers of the handler have for this job. */
  readonly slots: number;
}

export function planSplits(question: SplitQuestion): readonly Split[] {
  const { ordering, concurrency, chunkRecords, ranges, slots } = question;
  if (ordering !== Ordering.none) return [];
  const usable = concurrency > 0 ? Math.min(concurrency, slots) : slots;
  const open = ranges.filter(({ status }) => status === 'open');
  const wanted = Math.min(usable - open.length, SPLIT_RANGES_MAX - ranges.length, SPLITS_PER_ROUND_MAX);
  // What the owner claims next must not be what is cut away: it would find its prefetched chunk gone.
  const restMin = BigInt(Math.max(SPLIT_REST_MIN, chunkRecords));
  const rests = open.map(({ partition, start, horizon, end }) => ({ range: { partition, start }, horizon, end }));
  const splits: Split[] = [];
  while (splits.length < wanted) {
    const largest = rests.reduce<(typeof rests)[number] | undefined>(
      (best, rest) => (best === undefined || restOf(rest) > restOf(best) ? rest : best),
      undefined,
    );
    if (largest === undefined || restOf(largest) < 2n * restMin) break;
    const at = toOffset(largest.horizon + restOf(largest) / 2n);
    splits.push({ range: largest.range, at });
    rests.push({ range: { partition: largest.range.partition, start: at }, horizon: at, end: largest.end });
    largest.end = at;
  }
  return splits;
}

/** Slots of the workers that have the handler, shared between the jobs that run with it. */
export function slotsOfJob({
  handler,
  alive,
  jobs,
}: {
  readonly handler: string;
  readonly alive: readonly Pick<WorkerAnnouncement, 'handlers' | 'slots'>[];
  readonly jobs: number;
}): number {
  const able = alive.filter(({ handlers }) => handlers.some(({ name }) => name === handler));
  const slots = able.reduce((sum, worker) => sum + (worker.slots ?? SLOTS_UNTOLD), 0);
  return Math.ceil(slots / jobs);
}

function restOf({ horizon, end }: { readonly horizon: Offset; readonly end: Offset }): bigint {
  return end - horizon;
}
