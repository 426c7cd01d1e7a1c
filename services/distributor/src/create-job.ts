/** From a pin, or its refusal, to a job that workers find. */
import { outcomeOf, planRanges, windowsOf } from '@tidemark/jobs';
import { RANGES_PER_JOB_MAX } from '@tidemark/keyspace';
import { move, timeOf } from './changes.ts';
import { accept } from './floors.ts';
import type { PinAnswer } from './pin.ts';
import { firstCheckpoint } from './ranges.ts';
import { commit, enlist, type JobChange, type Shard } from './shard.ts';
import { installNew } from './store-filling.ts';

/** `link` adds what else changes in the same transaction. */
export async function createJob(
  shard: Shard,
  requested: JobChange,
  pin: PinAnswer,
  link: (change: JobChange) => JobChange = (change) => change,
): Promise<void> {
  const { parts } = shard;
  const { request, jobId } = requested.state;
  // One instant for the whole transaction, taken after the high watermark was read: nothing acknowledged later is in.
  const time = timeOf(shard);
  if (pin.kind === 'refused')
    return refuse(shard, link, move(requested, { kind: 'refused', reason: pin.reason }, time));

  const windows = windowsOf(pin.pin);
  const ranges = planRanges(windows, request);
  if (ranges.length > RANGES_PER_JOB_MAX) {
    const reason = `TOO_MANY_RANGES: ${request.rangesPerPartition} ranges a partition are ${ranges.length} in all, a job may have ${RANGES_PER_JOB_MAX}; ask for fewer, or for 0 to let the spans decide`;
    return refuse(shard, link, move(requested, { kind: 'refused', reason }, time));
  }
  const pinned = move(requested, { kind: 'pinned', pin: pin.pin }, time);
  const checkpoints = ranges.map((range) => firstCheckpoint(jobId, range, time.atMs));
  // A job that needs nothing needs no floor: it is accepted and complete at once.
  const change =
    ranges.length === 0
      ? move(move(pinned, { kind: 'accepted' }, time), outcomeOf([]), time)
      : { ...pinned, checkpoints };
  await parts.onStep('job.before-commit');
  await commit(shard, { atMs: Number(time.atMs), changes: [link(change)] });
  await parts.onStep('job.committed');
  const { state, reason } = change.state;
  parts.logger.info({ jobId, topic: request.topic, state, reason, ranges: ranges.length }, 'job.pinned');

  const durable = shard.book.live(jobId);
  const job = durable === undefined ? undefined : await accept(shard, durable);
  if (job === undefined) return;
  await parts.onStep('job.accepted');
  await installNew(shard, job);
  await parts.onStep('job.installed');
  await enlist(shard, job);
  await parts.onStep('job.enlisted');
}

async function refuse(shard: Shard, link: (change: JobChange) => JobChange, refused: JobChange): Promise<void> {
  const { jobId, reason, updatedAtMs } = refused.state;
  await commit(shard, { atMs: Number(updatedAtMs), changes: [link(refused)] });
  shard.parts.logger.warn({ jobId, reason }, 'job.refused');
}
