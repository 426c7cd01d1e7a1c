/**
 * The live split: at the end of a round, ranges of jobs that leave slots idle are cut in the store. What is new is in the
 * next round's look, and becomes durable in one transaction with the range that it was cut from. *Race:* the store is lost
 * in between: the restore yields the range uncut, and what was settled in the new one since is delivered again, as is
 * everything since the last checkpoint.
 */
import { aliveWorkers, type RangeState } from '@tidemark/cursors';
import { JobPhase } from '@tidemark/jobs';
import { monotonicNowMs } from '@tidemark/keyspace';
import type { LiveJob } from './job-book.ts';
import { ensureProven, onSchedule, onStore, type Shard } from './shard.ts';
import { planSplits, type Split, slotsOfJob } from './split-plan.ts';

export async function splitWhereIdle(
  shard: Shard,
  looks: readonly { readonly job: LiveJob; readonly ranges: readonly RangeState[] }[],
): Promise<void> {
  const splittable = looks.filter(({ job }) => mayBeCut(shard, job));
  if (splittable.length === 0) return;
  const { nowMs, workers } = await onSchedule(shard, (schedule) => schedule.workers());
  const alive = aliveWorkers(workers, nowMs);
  const running = Map.groupBy(shard.book.running(), ({ state }) => state.request.handler);
  for (const { job, ranges } of splittable) {
    const { ordering, concurrency, chunkRecords, handler } = job.state.request;
    const slots = slotsOfJob({ handler, alive, jobs: running.get(handler)?.length ?? 1 });
    const splits = planSplits({ ordering, concurrency, chunkRecords, ranges, slots });
    if (splits.length > 0) await cut(shard, job, splits);
  }
}

/** After a restore a horizon may be below what a former owner still handles; it trusts its lease no longer than this. */
function mayBeCut({ book, splitAfterMs }: Shard, { jobId }: LiveJob): boolean {
  const state = book.live(jobId)?.state;
  return state?.state === JobPhase.running && monotonicNowMs() >= (splitAfterMs.get(jobId) ?? 0);
}

async function cut(shard: Shard, { jobId }: LiveJob, splits: readonly Split[]): Promise<void> {
  await ensureProven(shard, shard.parts.proofTrustMs);
  let count = 0;
  for (const { range, at } of splits) {
    const answer = await onStore(shard, (store) => store.split({ jobId, range, at }));
    // Its owner was faster, or the job was stopped: the next round looks again. Later cuts may be of this one's parts.
    if (answer.kind !== 'split') break;
    count += 1;
  }
  if (count === 0) return;
  await shard.parts.onStep('split.done');
  await onSchedule(shard, (schedule) => schedule.wake());
  shard.parts.logger.info({ jobId, ranges: count }, 'job.split');
}
