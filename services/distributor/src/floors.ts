/** The steps of a job's life at which its floors change. */

import type { JobState } from '@tidemark/contracts';
import { auditedJobOf, auditHolderOf, holderOf, isHeld, isHeldForAudit, isTerminal } from '@tidemark/jobs';
import { monotonicNowMs } from '@tidemark/keyspace';
import { dropHold } from './audit-holds.ts';
import { changeOf, move, timeOf } from './changes.ts';
import { lookAfterFloors } from './floor-check.ts';
import type { Confirmed } from './floor-keeper.ts';
import type { LiveJob } from './job-book.ts';
import { coveredBy, needsOf, placeKey, type Settled, wholeOf } from './needs.ts';
import { noteReleasedFloors } from './released-floors.ts';
import { placesOf } from './series-needs.ts';
import { commit, type Shard } from './shard.ts';
import { acknowledgedRanges } from './shard-floors.ts';
import { standingNeeds } from './standing-needs.ts';

/** Before any job is filled in: a guard that finds floors must find all of them. */
export async function fillFloors(shard: Shard): Promise<void> {
  const { floors, parts } = shard;
  const { places } = floors;
  rememberCovered(shard);
  for (const place of await floors.marked()) places.set(placeKey(place), place);
  const filled = await floors.keeper.fill([...places.values()]);
  floors.checkedAtMs = monotonicNowMs();
  if (filled > 0) parts.logger.info({ places: filled, of: places.size }, 'floors.filled');
}

/** For places and floors that nobody asks for because no job runs or gets on there. */
export async function checkFloors(shard: Shard): Promise<void> {
  const { book, floors, parts, patience } = shard;
  const { checkedAtMs } = floors;
  if (checkedAtMs !== undefined && monotonicNowMs() - checkedAtMs < parts.floorsLookEveryMs) return;
  rememberCovered(shard);
  const answer = await lookAfterFloors({
    look: (place) => patience({ dependency: 'cursor store' }, () => parts.floors.look(place)),
    keeper: floors.keeper,
    places: [...floors.places.values()],
    needs: function* () {
      for (const { jobId } of book.accepted()) {
        const job = book.live(jobId);
        if (job !== undefined) yield { holder: jobId, needs: needsOf(job.state, acknowledgedRanges(job)) };
      }
      yield* standingNeeds(shard);
    },
    isOver: isOverIn(shard),
  });
  if (answer.kind === 'held back') {
    floors.checkedAtMs = undefined;
    return;
  }
  floors.checkedAtMs = monotonicNowMs();
  const { filled, restored, dropped, ahead } = answer;
  await noteReleasedFloors(shard, ahead);
  if (filled + restored + dropped > 0)
    parts.logger.info({ places: filled, restored, dropped, of: floors.places.size }, 'floors.filled');
}

/** By the book as it is when it is asked: an end is done with before anybody looks at floors. */
function isOverIn({ book, series }: Shard): (holder: string) => boolean {
  return (holder) => {
    const audited = book.state(auditedJobOf(holder) ?? '');
    if (audited !== undefined) return !isHeldForAudit(audited);
    const job = book.state(holder);
    if (job !== undefined) return isTerminal(job.state);
    return series.all().some((state) => !isHeld(state) && holderOf(state.series) === holder);
  };
}

function rememberCovered(shard: Shard): void {
  const { book, floors, series, partitionCounts } = shard;
  // Deleted ones, too: the guard, which cut there, waits for a place that is filled.
  for (const state of series.all())
    for (const place of placesOf(state, partitionCounts)) floors.places.set(placeKey(place), place);
  for (const state of book.states())
    for (const { place } of coveredBy(state)) floors.places.set(placeKey(place), place);
}

/**
 * The job is durable; now its reservation becomes a floor, and then the job is accepted, durably: from here on its floor is
 * put back after any loss, whatever was given up meanwhile. Returns it as it runs, or undefined when it was refused.
 */
export async function accept(shard: Shard, job: LiveJob): Promise<LiveJob | undefined> {
  const { jobId } = job;
  const answer = await confirmAll(shard, job);
  await shard.parts.onStep('job.confirmed');
  const time = timeOf(shard);
  const event =
    answer.kind === 'confirmed'
      ? ({ kind: 'accepted' } as const)
      : ({ kind: 'refused', reason: refusalOf(answer) } as const);
  const change = move(changeOf(job.state, []), event, time);
  await commit(shard, { atMs: Number(time.atMs), changes: [change] });
  if (answer.kind === 'confirmed') return shard.book.live(jobId);
  shard.parts.logger.warn({ jobId, reason: change.state.reason }, 'job.refused');
  await dropFloors(shard, change.state);
  return undefined;
}

/** The floor of its hold for an audit comes with its own: from the acceptance on both are put back after any loss. */
async function confirmAll({ floors }: Shard, job: LiveJob): Promise<Confirmed> {
  const answer = await floors.keeper.confirm(job.jobId, needsOf(job.state, acknowledgedRanges(job)));
  if (answer.kind === 'refused' || !isHeldForAudit(job.state)) return answer;
  return floors.keeper.confirm(auditHolderOf(job.jobId), wholeOf(job.state));
}

function refusalOf({ need, mark }: Extract<Confirmed, { kind: 'refused' }>): string {
  const { place, offset } = need;
  return `RETENTION_WAS_FASTER: partition ${place.partition} was given up below ${mark} before the job, which needs it from ${offset} on, was accepted; submit it again under another id`;
}

/** At a start: what a crash left between a job's commit and its acceptance, and floors that somebody removed. */
export async function settleFloors(shard: Shard): Promise<void> {
  const { book, floors } = shard;
  for (const job of book.pinning()) await accept(shard, job);
  for (const job of book.accepted())
    await floors.keeper.restore(job.jobId, needsOf(job.state, acknowledgedRanges(job)));
  for (const { holder, needs } of standingNeeds(shard)) await floors.keeper.restore(holder, needs);
}

/** `acknowledged` was in the book before the store was looked at, and both before this. */
export async function raiseFloors(shard: Shard, acknowledged: LiveJob, stored: readonly Settled[]): Promise<void> {
  const { floors } = shard;
  const inStore = new Map(needsOf(acknowledged.state, stored).map((need) => [need.place.partition, need.offset]));
  for (const need of needsOf(acknowledged.state, acknowledgedRanges(acknowledged))) {
    const offset = inStore.get(need.place.partition) ?? need.offset;
    const answer = await floors.keeper.raise(acknowledged.jobId, { acknowledged: need, stored: offset });
    if (answer.kind === 'incomplete') floors.checkedAtMs = undefined;
  }
}

/** The end is durable and the keys are gone; what was held for the job goes last. What is held for its audit stays, if it is. */
export async function dropFloors(shard: Shard, state: JobState): Promise<void> {
  const places = coveredBy(state).map(({ place }) => place);
  await shard.floors.keeper.drop(state.jobId, places);
  if (state.request.holdForAuditMs > 0n && !isHeldForAudit(state)) await dropHold(shard, state);
}
