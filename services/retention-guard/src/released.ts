/**
 * Floors of jobs that have held a log for too long. Which ones is durable beside the marks before anything follows from it.
 * A released floor stays in the store and is raised to where the policy would cut, in every cycle: it is neither missing,
 * so that nobody puts it back, nor does it hold anything; and after a store was lost and filled again it is raised again.
 */
import type { JobState } from '@tidemark/contracts';
import { inSlices, type Offset, offsetMax, offsetMin } from '@tidemark/keyspace';
import type { Candidate } from './candidate.ts';
import { type Overdue, overdueAt } from './hold.ts';
import { SLICES } from './limits.ts';
import type { GuardParts } from './parts.ts';
import type { Releases } from './watch.ts';

export function targetOf({ policyTarget, offsets }: Pick<Candidate, 'policyTarget' | 'offsets'>): Offset {
  return offsetMin(policyTarget, offsets.lastStableOffset);
}

/** Those whose time is over. */
export function toRelease(
  { holds, nowMs }: GuardParts,
  candidate: Candidate,
  states: ReadonlyMap<string, JobState>,
): readonly Overdue[] {
  const afterMs = holds?.get(candidate.place.topic)?.releaseMs;
  return overdueAt({ ...candidate, states, target: targetOf(candidate), afterMs, nowMs: nowMs() });
}

export async function raiseReleased(
  { floors }: GuardParts,
  candidates: readonly Candidate[],
  releasedAt: (candidate: Candidate) => Releases,
): Promise<readonly Candidate[]> {
  const raised: Candidate[] = [];
  await inSlices(candidates, SLICES, async (candidate) => {
    const { place, look } = candidate;
    const released = new Set(releasedAt(candidate).map(({ holder }) => holder));
    const to = targetOf(candidate);
    if (look === undefined || released.size === 0) {
      raised.push(candidate);
      return;
    }
    const now: (typeof look.floors)[number][] = [];
    for (const floor of look.floors) {
      const isReleased = released.has(floor.holder);
      if (isReleased && floor.offset < to) await floors.raise({ place, holder: floor.holder, to });
      now.push(isReleased ? { ...floor, offset: offsetMax(floor.offset, to) } : floor);
    }
    raised.push({ ...candidate, look: { ...look, floors: now } });
  });
  return raised;
}
