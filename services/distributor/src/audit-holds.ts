/** The end of what is held for audits (its rules are in `audit-hold.ts` of libs/jobs): durable first, then the floors. */
import type { JobState } from '@tidemark/contracts';
import { auditDeadlineOf, auditHolderOf } from '@tidemark/jobs';
import { changeOf, move, timeOf } from './changes.ts';
import { HOLDS_ENDED_AT_ONCE } from './limits.ts';
import { coveredBy } from './needs.ts';
import { commit, type Shard } from './shard.ts';

/** Each round: those whose deadline has come. */
export async function endHolds(shard: Shard): Promise<void> {
  const time = timeOf(shard);
  const isDue = (state: JobState): boolean => (auditDeadlineOf(state) ?? time.atMs + 1n) <= time.atMs;
  // What is left is due in the next round, too.
  const due = shard.book.heldAfterEnd().filter(isDue).slice(0, HOLDS_ENDED_AT_ONCE);
  if (due.length === 0) return;
  const changes = due.map((state) => move(changeOf(state, []), { kind: 'hold over' }, time));
  await commit(shard, { atMs: Number(time.atMs), changes });
  await shard.parts.onStep('hold.committed');
  for (const state of due) {
    await dropHold(shard, state);
    shard.parts.logger.warn({ jobId: state.jobId }, 'job.hold_over');
  }
}

/** That nothing is held any more is durable. Whoever dies before this leaves floors that the next start drops, or the guard. */
export async function dropHold(shard: Shard, state: JobState): Promise<void> {
  const places = coveredBy(state).map(({ place }) => place);
  await shard.floors.keeper.drop(auditHolderOf(state.jobId), places);
}
