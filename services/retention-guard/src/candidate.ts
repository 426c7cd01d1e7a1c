/** A partition on its way through a cycle, and what is said of it at the end. */
import { type FloorLook, type FloorPlace, lowestFloor } from '@tidemark/cursors';
import { type Offset, offsetMax, offsetMin } from '@tidemark/keyspace';
import type { PartitionOffsets, TopicDescription } from '@tidemark/log';
import { type GroupFloor, lowestGroup } from './groups.ts';
import type { Overdue } from './hold.ts';
import type { PartitionOutcome, PartitionReport, ReportedRelease, ReportedRemoval } from './report.ts';

export interface Candidate {
  readonly place: FloorPlace;
  readonly description: TopicDescription;
  readonly offsets: PartitionOffsets;
  /** Below which the policy alone would cut. */
  readonly policyTarget: Offset;
  /** Undefined while the place is incomplete. */
  readonly look: FloorLook | undefined;
  readonly groups: readonly GroupFloor[];
  /** By others; see watch.ts. */
  readonly removals?: readonly ReportedRemoval[];
  readonly releases?: readonly ReportedRelease[];
  readonly overdue?: readonly Overdue[];
}

/** The lowest floor, of a job or of a group. */
function lowestOf({
  look,
  groups,
  offsets,
}: Candidate): { readonly holder: string; readonly offset: Offset } | undefined {
  const job = look === undefined ? undefined : lowestFloor(look);
  const group = lowestGroup(groups, offsets);
  if (job === undefined || group === undefined) return job ?? group;
  return group.offset < job.offset ? group : job;
}

/** As it is once the store raised the mark: what lay below had run out. */
export function afterProposal<Known extends Candidate>(known: Known, mark: Offset): Known {
  const { look } = known;
  if (look === undefined) return known;
  return { ...known, look: { ...look, mark, floors: look.floors.filter(({ offset }) => offset >= mark) } };
}

function offsetsOf(groups: readonly GroupFloor[]): ReadonlyMap<string, Offset | undefined> {
  return new Map(groups.map((floor) => [floor.group, floor.kind === 'committed' ? floor.offset : undefined]));
}

export function reportOf(candidate: Candidate, outcome: PartitionOutcome, reason: string): PartitionReport {
  const { place, offsets, policyTarget, look, groups, removals = [], releases = [], overdue = [] } = candidate;
  const lowest = lowestOf(candidate);
  const { logStartOffset, highWatermark, lastStableOffset } = offsets;
  const target = offsetMin(policyTarget, lastStableOffset);
  const heldFrom = offsetMax(logStartOffset, offsetMin(lowest?.offset ?? target, target));
  const heldOffsets = target - heldFrom;
  return {
    topic: place.topic,
    partition: place.partition,
    outcome,
    reason,
    logStartOffset,
    highWatermark,
    target,
    ...(look === undefined ? {} : { mark: look.mark }),
    floor: lowest?.offset,
    holder: lowest?.holder,
    removals,
    ...(releases.length === 0 ? {} : { releases }),
    ...(overdue.length === 0 ? {} : { overdue }),
    ...(groups.length === 0 ? {} : { groups: offsetsOf(groups) }),
    cutOffsets: 0n,
    heldOffsets: look !== undefined && heldOffsets > 0n ? heldOffsets : 0n,
  };
}
