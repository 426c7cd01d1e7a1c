/** The look at all jobs that may be worked on: checkpoints, ends, suspensions, and the repair of a store that forgot. */
import type { RangeCheckpoint } from '@tidemark/contracts';
import type { RangeState } from '@tidemark/cursors';
import type { Outcome } from '@tidemark/jobs';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { followWaits } from './breaker-waits.ts';
import { changeOf, move, timeOf } from './changes.ts';
import { checkFloors, raiseFloors } from './floors.ts';
import { eachOf } from './in-slices.ts';
import { type Inspection, inspect } from './inspection.ts';
import type { LiveJob } from './job-book.ts';
import {
  CHECKPOINT_RECORDS_MAX,
  IDLE_PROOF_EVERY_MS,
  LIST_AGAIN_ROUNDS,
  PARKED_PER_CHECKPOINT,
  RESTING_LOOK_ROUNDS,
} from './limits.ts';
import { commit, ensureProven, type JobChange, list, lookOptions, onSchedule, onStore, type Shard } from './shard.ts';
import { splitWhereIdle } from './splitting.ts';
import { haltDraining, letSettle, suspend } from './stopping.ts';
import { bringUp, close, lostAtRest, refill } from './store-filling.ts';

export async function checkpointAll(shard: Shard): Promise<void> {
  const incarnation = await onStore(shard, (store) => store.incarnation());
  if (incarnation !== shard.life?.incarnation) {
    return refill(shard, shard.book.accepted(), 'the store is another incarnation');
  }
  const looks = await lookAtAll(shard, shard.book.active());
  await commitLooks(shard, looks);
  await raiseAll(shard, looks);
  await checkFloors(shard);
  await listAgain(shard);
  await splitWhereIdle(
    shard,
    looks.filter(({ inspection }) => inspection.kind === 'looked'),
  );
  // A distributor without work would not hear of its successor.
  await ensureProven(shard, IDLE_PROOF_EVERY_MS);
  const lost = looks.filter((look) => look.inspection.kind === 'restore').map(({ job }) => job);
  const atRest = shard.rounds % RESTING_LOOK_ROUNDS === 0 ? await lostAtRest(shard) : [];
  if (lost.length + atRest.length > 0) await refill(shard, [...lost, ...atRest], reasonOf(looks));
}

interface Look {
  /** As it was durable before the store was looked at. */
  readonly job: LiveJob;
  readonly inspection: Inspection;
  readonly ranges: readonly RangeState[];
}

async function lookAtAll(shard: Shard, jobs: readonly LiveJob[]): Promise<readonly Look[]> {
  const looks: Look[] = [];
  const said = await onSchedule(shard, (schedule) => schedule.waiting());
  shard.breakerWaits = followWaits(shard.breakerWaits, said, shard.parts.nowMs());
  await eachOf(jobs, async (job) => {
    const snapshot = await onStore(shard, (store) => store.snapshot(job.jobId));
    const breakerWait = shard.breakerWaits.get(job.jobId);
    const settlingSinceMs = shard.settlingSinceMs.get(job.jobId);
    const inspection = inspect(job, snapshot, { ...lookOptions(shard), breakerWait, settlingSinceMs });
    looks.push({ job, inspection, ranges: snapshot?.ranges ?? [] });
  });
  shard.breakerWaits = withoutMoving(shard.breakerWaits, looks);
  return looks;
}

/** A job that gets on does not wait: its time begins anew when it is said again. */
function withoutMoving(waits: Shard['breakerWaits'], looks: readonly Look[]): Shard['breakerWaits'] {
  const moving = new Set(
    looks.flatMap(({ job, inspection }) => (inspection.kind === 'looked' && inspection.hasMoved ? [job.jobId] : [])),
  );
  return new Map([...waits].filter(([jobId]) => !moving.has(jobId)));
}

/** Durable first, a bounded transaction at a time; what the store is told follows each of them. */
async function commitLooks(shard: Shard, looks: readonly Look[]): Promise<void> {
  let group: JobChange[] = [];
  let ended: { readonly jobId: string; readonly outcome: Outcome }[] = [];
  let weight = 0;
  const flush = async (): Promise<void> => {
    if (group.length === 0) return;
    await commit(shard, { atMs: Number(time.atMs), changes: group });
    if (ended.length > 0) await shard.parts.onStep('end.committed');
    await eachOf(ended, async ({ jobId, outcome }) => {
      shard.parts.logger.info({ jobId, outcome: outcome.kind, reason: outcome.reason }, 'job.ended');
      await close(shard, jobId);
    });
    group = [];
    ended = [];
    weight = 0;
    time = timeOf(shard);
  };
  let time = timeOf(shard);
  for (const { job, inspection } of looks) {
    if (inspection.kind === 'restore') continue;
    reportFaults(shard, job, inspection.faults);
    const { next, changed } = inspection;
    if (next.kind !== 'let settle') shard.settlingSinceMs.delete(job.jobId);
    if (next.kind === 'suspend') await suspend(shard, job, next.reason);
    else if (next.kind === 'halt') await haltDraining(shard, job, next.how);
    else if (next.kind === 'end') {
      group.push(move(changeOf(job.state, changed), next.outcome, time));
      ended.push({ jobId: job.jobId, outcome: next.outcome });
    } else {
      if (next.kind === 'align') await bringUp(shard, job);
      if (next.kind === 'let settle') await letSettle(shard, job);
      if (changed.length > 0) group.push(changeOf(job.state, changed));
    }
    weight += 1 + weightOf(changed);
    if (weight >= CHECKPOINT_RECORDS_MAX) await flush();
  }
  await flush();
}

/** In checkpoints without a parked record or a lost interval. */
function weightOf(checkpoints: readonly RangeCheckpoint[]): number {
  const parked = checkpoints.reduce((sum, checkpoint) => sum + checkpoint.parked.length + checkpoint.passed.length, 0);
  return checkpoints.length + parked / PARKED_PER_CHECKPOINT;
}

/** The list is a hint and never the truth: an entry may be gone, and without it no worker finds the job's ranges. */
async function listAgain(shard: Shard): Promise<void> {
  shard.rounds += 1;
  if (shard.rounds % LIST_AGAIN_ROUNDS !== 0) return;
  await heedHurry(shard);
  await eachOf(shard.book.running(), (job) => list(shard, job));
}

/** A hint as the list is: who loses it serves the job in its turn. */
async function heedHurry(shard: Shard): Promise<void> {
  const before = shard.hurried;
  shard.hurried = await onSchedule(shard, (schedule) => schedule.hurried());
  for (const { jobId } of shard.book.running()) {
    const isHurried = shard.hurried.has(jobId);
    if (isHurried !== before.has(jobId))
      shard.parts.logger.info({ jobId }, isHurried ? 'job.hurried' : 'job.hurried_no_more');
  }
}

/** What was durable before this round, and the store after that: a floor moves one round after its checkpoint. */
async function raiseAll(shard: Shard, looks: readonly Look[]): Promise<void> {
  const seen = looks.filter(({ job, inspection }) => inspection.kind === 'looked' && shard.book.live(job.jobId));
  await eachOf(seen, ({ job, ranges }) => raiseFloors(shard, job, ranges));
}

/** A bug, and a person must look; but the ranges are settled, so the job is not held back. */
function reportFaults(shard: Shard, job: LiveJob, faults: readonly string[]): void {
  if (faults.length === 0) return;
  const message = `the numbers of job ${job.jobId} do not add up: ${faults.join('; ')}`;
  const error = new TidemarkError({ code: 'NUMBERS_DO_NOT_ADD_UP', class: ErrorClass.bug, message });
  shard.parts.logger.error({ jobId: job.jobId, error }, 'job.numbers_broken');
}

function reasonOf(looks: readonly Look[]): string {
  for (const { inspection } of looks) if (inspection.kind === 'restore') return inspection.why;
  return 'the store does not hold the job';
}
