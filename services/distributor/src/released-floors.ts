/**
 * A guard that released a floor wrote so beside its marks, but the audit trail has one writer, and that is here. So whoever
 * finds a floor above what its holder needs asks the marks for the reason, and tells it of the job: in its state, where it is
 * shown at once, and in the trail. Until then the job would hear of it only when it reads, which may be never.
 *
 * Asked only about floors that are not explained yet: a released one stays above what is needed until the job ends.
 */
import type { JobState, LogWatch, ReleasedFloor } from '@tidemark/contracts';
import { auditedJobOf, jobOfHolder, markKey } from '@tidemark/jobs';
import { changeOf, move, timeOf } from './changes.ts';
import type { AheadFloor } from './floor-check.ts';
import { commit, type JobChange, type Shard } from './shard.ts';

export async function noteReleasedFloors(shard: Shard, ahead: readonly AheadFloor[]): Promise<void> {
  const { book, floors, parts } = shard;
  const open = Map.groupBy(
    ahead.filter((floor) => isUnexplained(floor, book.state(jobOfHolder(floor.holder)))),
    ({ holder }) => jobOfHolder(holder),
  );
  if (open.size === 0) return;
  const watches = await floors.watches();
  if (watches === undefined) return; // They are still ahead at the next look.
  const time = timeOf(shard);
  const changes: JobChange[] = [];
  for (const [jobId, unexplained] of open) {
    const state = book.state(jobId);
    if (state === undefined) continue;
    const released = unexplained.flatMap((floor) => releaseOf(floor, state, watches.get(markKey(floor.place))) ?? []);
    if (released.length === 0) continue;
    changes.push(move(changeOf(state, []), { kind: 'floors released', floors: released }, time));
    parts.logger.warn({ jobId, partitions: released.map(({ partition }) => partition) }, 'job.floors_released');
  }
  if (changes.length > 0) await commit(shard, { atMs: Number(time.atMs), changes });
}

function isUnexplained({ holder, place }: AheadFloor, state: JobState | undefined): boolean {
  const isOfAudit = auditedJobOf(holder) !== undefined;
  return (
    state !== undefined &&
    !state.releasedFloors.some(({ partition, ofAudit }) => partition === place.partition && ofAudit === isOfAudit)
  );
}

/** A later job of the same name was not released. */
function releaseOf(
  { holder, place }: AheadFloor,
  { pin }: JobState,
  watch: LogWatch | undefined,
): ReleasedFloor | undefined {
  const release = watch?.releases.find((each) => each.holder === holder && each.atMs >= (pin?.pinnedAtMs ?? 0n));
  if (release === undefined) return undefined;
  const { fromOffset, atMs } = release;
  return { partition: place.partition, ofAudit: auditedJobOf(holder) !== undefined, fromOffset, atMs };
}
