/**
 * Filling the store from what is durable: a new job, a job that the store lost, or all of them after the store came back
 * as somebody else.
 *
 * Before anything is filled, an epoch record is appended and then one transaction is committed. The record's offset leads
 * all tokens granted from then on, so they grow whatever the store forgot. The commit proves that no younger distributor
 * existed when the epoch was already written: whoever comes later appends its own epoch later, so it is larger, and the
 * store refuses the smaller one. Without the proof a frozen distributor could wake up, append the youngest epoch and put
 * an old copy over what the younger one filled.
 */

import { hostname } from 'node:os';
import { type JobInstall, JobMode } from '@tidemark/cursors';
import { JobPhase, rangeOfCheckpoint, SeriesStatus } from '@tidemark/jobs';
import { ErrorClass, monotonicNowMs, TidemarkError } from '@tidemark/keyspace';
import { dropFloors, fillFloors, settleFloors } from './floors.ts';
import { eachOf } from './in-slices.ts';
import { inspect, modeOf } from './inspection.ts';
import type { LiveJob } from './job-book.ts';
import { endsOf } from './ranges.ts';
import { dropSeriesFloors } from './series-floors.ts';
import {
  commit,
  enlist,
  ensureProven,
  lookOptions,
  onSchedule,
  onStore,
  type Shard,
  type StoreLife,
  withdraw,
} from './shard.ts';

export async function beginStoreLife(shard: Shard): Promise<StoreLife> {
  const { parts, journal } = shard;
  const incarnation = await onStore(shard, (store) => store.incarnation());
  await parts.onStep('restore.begun');
  const atMs = parts.nowMs();
  const distributor = `${hostname()}/${process.pid}`;
  const record = { formatVersion: 1, incarnation, distributor, atMs: BigInt(atMs) };
  const epoch = await shard.patience({ dependency: 'kafka' }, () => journal.writeEpoch(record));
  await parts.onStep('restore.epoch-written');
  // The guard is told in the same transaction: what it knows of another store is worth nothing from here on.
  await commit(shard, { atMs, store: record });
  await parts.onStep('restore.proven');
  const life = { epoch, incarnation };
  shard.life = life;
  return life;
}

/** At the start of a session: leftovers away, then every job into the store, and those that run before the workers. */
export async function fillAtStart(shard: Shard): Promise<void> {
  const { parts, epochBefore, book } = shard;
  await forgetLeftovers(shard);
  for (const state of book.foreign()) {
    parts.logger.warn({ jobId: state.jobId, state: state.state }, 'job.foreign_state');
  }
  const known = epochBefore?.incarnation;
  const life = await beginStoreLife(shard);
  if (known !== undefined && known !== life.incarnation) await forgetAllEnded(shard);
  await fillFloors(shard);
  await settleFloors(shard);
  await eachOf(book.accepted(), async (job) => {
    const { why } = await alignWith(shard, job);
    // The session before may have restored it a moment ago.
    holdSplits(shard, job);
    // The epoch is new, so no token of it was granted yet.
    if (why !== undefined) await install(shard, job, why);
    await listOrNot(shard, job);
  });
}

/** The store is another one than the session filled, or went back: everything anew, under a new epoch. */
export async function refill(shard: Shard, jobs: readonly LiveJob[], why: string): Promise<void> {
  const before = shard.life;
  const life = await beginStoreLife(shard);
  if (before !== undefined && before.incarnation !== life.incarnation) await forgetAllEnded(shard);
  await fillFloors(shard);
  await eachOf(jobs, async (job) => {
    await install(shard, job, why);
    await listOrNot(shard, job);
  });
}

/**
 * Idempotent: fills the job in where the store does not hold it as far as it is durable, lets workers do with it what its
 * durable state says, and lists it if they may take ranges of it.
 */
export async function bringUp(shard: Shard, job: LiveJob): Promise<void> {
  const { why } = await alignWith(shard, job);
  // Under the epoch of this session it may have been filled in before: its tokens would begin again.
  if (why !== undefined) await refill(shard, [job], why);
  else await listOrNot(shard, job);
}

/** Of the jobs that nobody works on, those that the store lost; the others are in the mode that their durable state says. */
export async function lostAtRest(shard: Shard): Promise<readonly LiveJob[]> {
  const lost: LiveJob[] = [];
  await eachOf(shard.book.resting(), async (job) => {
    const { why } = await alignWith(shard, job);
    if (why !== undefined) lost.push(job);
  });
  return lost;
}

/** Whether the store must be filled with the job, and why. One that is there is brought into the mode of its durable state. */
async function alignWith(shard: Shard, job: LiveJob): Promise<{ readonly why: string | undefined }> {
  const { jobId } = job;
  const snapshot = await onStore(shard, (store) => store.snapshot(jobId));
  const look = inspect(job, snapshot, lookOptions(shard));
  if (look.kind === 'restore') return { why: look.why };
  const mode = modeOf(job.state);
  // Halted already by somebody who did not get further: there is nothing to wait for.
  const isAhead = mode === JobMode.draining && snapshot?.mode === JobMode.halted;
  if (snapshot?.mode !== mode && !isAhead) {
    await ensureProven(shard, shard.parts.proofTrustMs);
    await onStore(shard, (store) => store.setMode({ jobId, mode }));
  }
  return { why: undefined };
}

function listOrNot(shard: Shard, job: LiveJob): Promise<void> {
  return job.state.state === JobPhase.running ? enlist(shard, job) : withdraw(shard, job.jobId);
}

/** For a job that was never in the store: under the epoch of the session, because no token of it exists. */
export async function installNew(shard: Shard, job: LiveJob): Promise<void> {
  if (shard.removal.hasFreedIds) {
    // One that had this id before may have had tokens of this epoch, and those of this job would begin with the same ones.
    await refill(shard, [], 'ids of removed jobs are free');
    shard.removal.hasFreedIds = false;
  }
  const answer = await fill(shard, job, shard.life ?? (await beginStoreLife(shard)));
  if (answer.kind === 'stale epoch') await explainStaleEpoch(shard, job, answer.epoch);
}

async function install(shard: Shard, job: LiveJob, why: string): Promise<void> {
  holdSplits(shard, job);
  const life = shard.life ?? (await beginStoreLife(shard));
  const answer = await fill(shard, job, life);
  if (answer.kind === 'stale epoch') await explainStaleEpoch(shard, job, answer.epoch);
  const checkpoints = [...job.checkpoints.values()];
  shard.parts.logger.warn(
    {
      jobId: job.jobId,
      why,
      epoch: life.epoch,
      ranges: checkpoints.length,
      // Handed out before the last checkpoint; what was handed out after it, at most one interval, comes on top.
      redeliveredOffsetsKnown: checkpoints.reduce((sum, { horizon, cursor }) => sum + (horizon - cursor), 0n),
      checkpointEveryMs: shard.parts.checkpointEveryMs,
    },
    'job.restored',
  );
}

/** See `splitting.ts`. */
function holdSplits({ splitAfterMs, parts }: Shard, { jobId }: LiveJob): void {
  splitAfterMs.set(jobId, monotonicNowMs() + parts.splitQuietMs);
}

async function fill(shard: Shard, job: LiveJob, life: StoreLife): ReturnType<typeof shard.parts.store.install> {
  const { jobId, definition, windows } = job;
  await ensureProven(shard, shard.parts.proofTrustMs);
  const ranges = [...job.checkpoints.values()].map(rangeOfCheckpoint);
  const mode = modeOf(job.state);
  const filling: JobInstall = { jobId, definition, ...life, mode, ends: endsOf(windows), ranges };
  return onStore(shard, (store) => store.install(filling));
}

/** A younger distributor was here, and then the commit says so; or the store changed; or it is not from this log. */
async function explainStaleEpoch(shard: Shard, job: LiveJob, epoch: bigint): Promise<never> {
  await commit(shard, { atMs: shard.parts.nowMs() });
  const { jobId } = job;
  if (epoch <= (shard.life?.epoch ?? -1n)) {
    throw new TidemarkError({
      code: 'STORE_CHANGED',
      class: ErrorClass.transient,
      message: `the cursor store changed while job ${jobId} was filled in`,
      context: { jobId, epoch },
    });
  }
  throw new TidemarkError({
    code: 'STORE_FROM_ELSEWHERE',
    class: ErrorClass.config,
    message: `the cursor store holds job ${jobId} of epoch ${epoch}, but no distributor of this log wrote one so young: were the topics created anew? Remove the keys of namespace ${shard.parts.namespace} from the store`,
    context: { jobId, epoch },
  });
}

/**
 * A job has ended, durably: its keys go last.
 *
 * *Race:* whoever stands still before that may be replaced, and by the time it goes on there may be another job under the id. That
 * one was filled in under the younger epoch of the successor, by which the store keeps it.
 */
export async function forget(shard: Shard, jobId: string): Promise<void> {
  const { life } = shard;
  shard.splitAfterMs.delete(jobId);
  await onSchedule(shard, (schedule) => schedule.withdraw(jobId));
  await shard.parts.onStep('end.withdrawn');
  await onStore(shard, (store) => store.remove({ jobId, ...(life && { epoch: life.epoch }) }));
  await shard.parts.onStep('end.keys-removed');
}

/** As `forget`, and then the floors: as long as a worker may still find the keys, it must find the records, too. */
export async function close(shard: Shard, jobId: string): Promise<void> {
  await forget(shard, jobId);
  const state = shard.book.state(jobId);
  if (state !== undefined) await dropFloors(shard, state);
}

/** Jobs of the last transaction that may have ended without their keys being removed: a crash came in between. */
async function forgetLeftovers(shard: Shard): Promise<void> {
  const { lastCommitMs } = shard.book;
  if (lastCommitMs === undefined) return;
  const leftovers = shard.book.ended().filter(({ updatedAtMs }) => updatedAtMs >= lastCommitMs);
  await eachOf(leftovers, ({ jobId }) => close(shard, jobId));
  for (const state of shard.series.all())
    if (state.status === SeriesStatus.deleted && state.updatedAtMs >= lastCommitMs)
      await dropSeriesFloors(shard, state);
}

/**
 * A store that came back older may hold jobs that have ended since; workers would ask for them for ever. Their floors are
 * gone already: in another life of the store every place is filled anew.
 */
async function forgetAllEnded(shard: Shard): Promise<void> {
  await eachOf(shard.book.ended(), ({ jobId }) => forget(shard, jobId));
}
