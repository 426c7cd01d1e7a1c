/**
 * How a job is stopped without losing what was settled until then: it is halted in the store, looked at once more, and its
 * last checkpoints and its new state become durable together. Who dies in between leaves a job that is halted in the store
 * and not in the log: the next look finds out, and stops it again or lets it go on, as its durable state says.
 */
import type { RangeCheckpoint } from '@tidemark/contracts';
import { JobMode } from '@tidemark/cursors';
import { JobPhase, type JobResult, type JobTransition, resultOfRanges } from '@tidemark/jobs';
import { changeOf, move, timeOf } from './changes.ts';
import { changedRanges, inspect } from './inspection.ts';
import type { LiveJob } from './job-book.ts';
import { rangesOfCheckpoints } from './ranges.ts';
import { commit, ensureProven, lookOptions, onStore, type Shard, withdraw } from './shard.ts';
import { bringUp, close } from './store-filling.ts';

/** The state is durable already; what is being handled may be settled, and is waited for by the rounds. */
export async function drain(shard: Shard, job: LiveJob): Promise<void> {
  const { jobId } = job;
  await shard.parts.onStep('drain.begun');
  const snapshot = await onStore(shard, (store) => store.snapshot(jobId));
  const look = inspect(job, snapshot, lookOptions(shard));
  if (look.kind === 'looked' && look.next.kind === 'halt') return haltDraining(shard, job, look.next.how);
  await bringUp(shard, job);
  await shard.parts.onStep('drain.set');
}

/** PAUSING becomes PAUSED, CANCELLING becomes CANCELLED. */
export async function haltDraining(shard: Shard, job: LiveJob, how: string): Promise<void> {
  const { jobId } = job;
  await halt(shard, jobId);
  await shard.parts.onStep('drain.halted');
  const { checkpoints, result } = await lastLook(shard, job);
  if (job.state.state === JobPhase.cancelling) {
    await commitMove(shard, job, { checkpoints, event: { kind: 'cancelled', how, result } });
    await shard.parts.onStep('end.committed');
    shard.parts.logger.info({ jobId, reason: job.state.reason, how }, 'job.cancelled');
    return close(shard, jobId);
  }
  await commitMove(shard, job, { checkpoints, event: { kind: 'paused', how } });
  await shard.parts.onStep('pause.committed');
  await withdraw(shard, jobId);
  shard.parts.logger.info({ jobId, reason: job.state.reason, how }, 'job.paused');
}

/** Nothing durable says so yet: who dies here leaves a job that the next look suspends, or lets go on. */
export async function letSettle(shard: Shard, { jobId }: LiveJob): Promise<void> {
  const { settlingSinceMs, parts } = shard;
  if (settlingSinceMs.has(jobId)) return;
  settlingSinceMs.set(jobId, parts.nowMs());
  await ensureProven(shard, parts.proofTrustMs);
  await onStore(shard, (store) => store.setMode({ jobId, mode: JobMode.draining }));
}

export async function suspend(shard: Shard, job: LiveJob, reason: string): Promise<void> {
  const { jobId } = job;
  await halt(shard, jobId);
  await shard.parts.onStep('suspend.halted');
  const { checkpoints } = await lastLook(shard, job);
  await commitMove(shard, job, { checkpoints, event: { kind: 'suspended', reason } });
  await shard.parts.onStep('suspend.committed');
  await withdraw(shard, jobId);
  shard.parts.logger.warn({ jobId, reason }, 'job.suspended');
}

/** Fresh proof first: a distributor that was suspended here must not halt what its successor has resumed. */
export async function halt(shard: Shard, jobId: string): Promise<void> {
  await ensureProven(shard, shard.parts.proofTrustMs);
  await onStore(shard, (store) => store.setMode({ jobId, mode: JobMode.halted }));
}

export interface LastLook {
  readonly checkpoints: readonly RangeCheckpoint[];
  readonly result: JobResult;
}

/** The ranges of a job that workers no longer move, from the store, or from the checkpoints where the store lost them. */
export async function lastLook(shard: Shard, job: LiveJob): Promise<LastLook> {
  const snapshot = await onStore(shard, (store) => store.snapshot(job.jobId));
  const look = inspect(job, snapshot, lookOptions(shard));
  if (snapshot === undefined || look.kind === 'restore') {
    return { checkpoints: [], result: resultOfRanges(rangesOfCheckpoints(job.windows, job.checkpoints.values())) };
  }
  const checkpoints = changedRanges(job, snapshot.ranges, BigInt(shard.parts.nowMs()));
  return { checkpoints, result: resultOfRanges(snapshot.ranges) };
}

async function commitMove(
  shard: Shard,
  job: LiveJob,
  { checkpoints, event }: { readonly checkpoints: readonly RangeCheckpoint[]; readonly event: JobTransition },
): Promise<void> {
  const time = timeOf(shard);
  const changes = [move(changeOf(job.state, checkpoints), event, time)];
  await commit(shard, { atMs: Number(time.atMs), changes });
}
