/**
 * Jobs of which workers say that they wait for a dependency although none of their ranges is held, and since when. Pure. A
 * worker says it again and again while it lasts, and only the last time is in the schedule: a restart of the distributor
 * begins to count anew.
 */
import { breakerIn, noteOfHint } from '@tidemark/jobs';

export interface BreakerWait {
  readonly dependency: string;
  readonly sinceMs: number;
}

export function followWaits(
  known: ReadonlyMap<string, BreakerWait>,
  said: ReadonlyMap<string, { readonly reason: string }>,
  nowMs: number,
): ReadonlyMap<string, BreakerWait> {
  const waits = new Map<string, BreakerWait>();
  for (const [jobId, { reason }] of said) {
    const dependency = breakerIn(noteOfHint(reason));
    if (dependency === undefined) continue;
    const before = known.get(jobId);
    waits.set(jobId, before?.dependency === dependency ? before : { dependency, sinceMs: nowMs });
  }
  return waits;
}
