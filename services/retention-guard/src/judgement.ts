/** What may be proposed for a partition, from everything that was read. Pure. */
import type { JobState, SeriesState } from '@tidemark/contracts';
import { type FloorLook, type FloorPlace, lowestFloor } from '@tidemark/cursors';
import { auditedJobOf, auditHolderOf, holderOf, isHeld, isHeldForAudit, isTerminal, JobPhase } from '@tidemark/jobs';
import { type Offset, offsetMin } from '@tidemark/keyspace';
import type { PartitionOffsets } from '@tidemark/log';
import { type GroupFloor, groupFault, lowestGroup } from './groups.ts';
import { STALE_FLOOR_AFTER_MS } from './limits.ts';
import { PartitionOutcome } from './report.ts';

export interface PartitionFacts {
  readonly offsets: PartitionOffsets;
  /** Below which the policy would cut. */
  readonly policyTarget: Offset;
  /** From before the jobs were read; undefined while the place is incomplete. */
  readonly look: FloorLook | undefined;
  /** Unfinished jobs and series that cover the partition, according to Kafka. */
  readonly required: readonly string[];
  /** Some job, finished or not, has covered the partition, or it has a mark. */
  readonly isCovered: boolean;
  /** Where named groups go on here. */
  readonly groups: readonly GroupFloor[];
  /** The log once ended below it: nothing is cut by a mark up to here. */
  readonly wentBackMark: Offset | undefined;
  /** Why the store as a whole is not to be believed; undefined when it is. */
  readonly storeFault: string | undefined;
}

export type Judgement =
  | { readonly kind: 'leave'; readonly outcome: PartitionOutcome; readonly reason: string }
  | { readonly kind: 'propose'; readonly life: string; readonly target: Offset };

export function judge(facts: PartitionFacts): Judgement {
  const { offsets, look, required, storeFault } = facts;
  if (storeFault !== undefined) return leave('incomplete', storeFault);
  if (look === undefined) {
    if (required.length > 0)
      return leave('incomplete', `the store has no floors here, but ${these(required)} needs some`);
    return facts.isCovered
      ? leave('incomplete', 'the distributor has not filled the floors here yet')
      : leave('unread', 'no job has covered this partition yet');
  }
  const present = new Set(look.floors.map(({ holder }) => holder));
  const missing = required.filter((holder) => !present.has(holder));
  if (missing.length > 0) return leave('incomplete', `the floor of ${these(missing)} is missing`);
  // Whether a reservation ran out is told by the store's clock alone, and only a proposal removes it: it is left to that.
  const staying = look.floors.filter(
    ({ holder, reservedUntilMs }) => reservedUntilMs === undefined || required.includes(holder),
  );
  const beyond = staying.find(({ offset }) => offset > offsets.highWatermark);
  if (beyond !== undefined)
    return leave('beyondLog', `${beyond.holder} needs ${beyond.offset}, the log ends at ${offsets.highWatermark}`);
  if (look.mark > offsets.lastStableOffset) return leave('beyondLog', wentBack(look.mark, offsets));

  const fault = groupFault(facts.groups, { ...offsets, mark: look.mark });
  if (fault !== undefined) return leave(fault.kind, fault.reason);

  const low = lowestFloor({ floors: staying });
  if (low !== undefined && low.offset < look.mark)
    return leave('held', `${low.holder} needs ${low.offset}, which is below a mark that was never cut at`);

  const stable = offsetMin(facts.policyTarget, offsets.lastStableOffset);
  const target = offsetMin(stable, lowestGroup(facts.groups, offsets)?.offset ?? stable);
  const wanted = offsetMin(target, low?.offset ?? target);
  if (facts.wentBackMark !== undefined && look.mark <= facts.wentBackMark && wanted <= look.mark)
    return leave(
      'beyondLog',
      `the log went back below the mark ${look.mark} once and has grown again: nothing is cut by it, until policy and floors are above it`,
    );
  // A mark above the log start is a cut that was promised and not finished.
  if (wanted > offsets.logStartOffset || look.mark > offsets.logStartOffset)
    return { kind: 'propose', life: look.life, target };
  return leave(stable > offsets.logStartOffset ? 'held' : 'idle', '');
}

/** What is wrong and what to do, for a mark above the last stable offset. */
export function wentBack(mark: Offset, { lastStableOffset }: Pick<PartitionOffsets, 'lastStableOffset'>): string {
  return `the mark is ${mark}, the log is stable up to ${lastStableOffset}: it went back (a restored disk, an unclean election?); nothing is cut here until it has grown past the mark, and jobs that were beyond ${lastStableOffset} must be submitted again`;
}

/**
 * Floors whose job ended, or whose series was deleted, or whose hold was released, long ago, according to Kafka: nobody would drop them any more, and
 * they would hold the log for ever. Reservations run out.
 */
export function staleHolders(
  look: FloorLook,
  known: { readonly states: ReadonlyMap<string, JobState>; readonly series: ReadonlyMap<string, SeriesState> },
  nowMs: number,
): readonly string[] {
  const endedAtMs = new Map<string, bigint>();
  for (const state of known.series.values())
    if (!isHeld(state)) endedAtMs.set(holderOf(state.series), state.updatedAtMs);
  for (const state of known.states.values())
    if (!isHeldForAudit(state)) endedAtMs.set(auditHolderOf(state.jobId), state.updatedAtMs);
  return look.floors
    .filter(({ holder, reservedUntilMs }) => {
      const job = known.states.get(holder);
      const atMs = job !== undefined && isTerminal(job.state) ? job.updatedAtMs : endedAtMs.get(holder);
      return reservedUntilMs === undefined && atMs !== undefined && BigInt(nowMs) - atMs > STALE_FLOOR_AFTER_MS;
    })
    .map(({ holder }) => holder);
}

/**
 * Only what was pinned on this very incarnation of the topic counts; an empty window needs nothing. A series needs every
 * partition of its topic, those too that no run of it has seen. A hold for an audit is needed from the acceptance of its job
 * on, until it is released, however the job ended.
 */
export function requiredAt(
  jobs: Iterable<JobState>,
  place: FloorPlace,
  series: Iterable<SeriesState> = [],
): readonly string[] {
  const holders: string[] = [];
  for (const state of series) if (isHeld(state) && isOf(state, place)) holders.push(holderOf(state.series));
  for (const state of jobs) {
    const window = windowAt(state, place);
    if (window === undefined || window.end <= window.start) continue;
    if (!isTerminal(state.state)) holders.push(state.jobId);
    if (isHeldForAudit(state) && state.state !== JobPhase.pinning) holders.push(auditHolderOf(state.jobId));
  }
  return holders;
}

/** An empty window reads nothing, and the distributor fills no floors for it; nor for what a deleted series had not seen. */
export function isCoveredBy(jobs: Iterable<JobState>, place: FloorPlace, series: Iterable<SeriesState> = []): boolean {
  for (const state of series) {
    const isSeen = state.partitions.some(({ partition }) => partition === place.partition);
    if (isOf(state, place) && (isSeen || isHeld(state))) return true;
  }
  for (const state of jobs) {
    const window = windowAt(state, place);
    if (window !== undefined && window.end > window.start) return true;
  }
  return false;
}

function isOf({ definition, topicId }: SeriesState, place: FloorPlace): boolean {
  return topicId === place.topicId && definition.request.topic === place.topic;
}

function windowAt({ pin, request }: JobState, place: FloorPlace) {
  if (pin === null || pin.topicId !== place.topicId || request.topic !== place.topic) return undefined;
  return pin.partitions.find(({ partition }) => partition === place.partition);
}

function leave(outcome: keyof typeof PartitionOutcome, reason: string): Judgement {
  return { kind: 'leave', outcome: PartitionOutcome[outcome], reason };
}

export function isSeriesHolder(holder: string): boolean {
  return holder.startsWith(holderOf(''));
}

function these(holders: readonly string[]): string {
  const [first = '', ...others] = holders;
  const audited = auditedJobOf(first);
  const job = audited === undefined ? `job ${first}` : `the audit of job ${audited}`;
  const name = isSeriesHolder(first) ? first : job;
  return others.length === 0 ? name : `${name} (and ${others.length} more)`;
}
