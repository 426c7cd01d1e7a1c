/** Records of the jobs topic that cannot be applied, now or ever: put aside with the reason, so that the next is served. */
import type { CommandPlace, InboxRecord } from '@tidemark/jobs';
import { describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { commit, type Shard } from './shard.ts';

/** A record whose transaction the broker refuses for its content would stop all others behind it for ever. */
export function notePoison(shard: Shard, place: CommandPlace, error: unknown): void {
  if (!(error instanceof TidemarkError) || error.class !== ErrorClass.data) return;
  const failures = (shard.parts.poison.get(place.offset)?.failures ?? 0) + 1;
  shard.parts.poison.set(place.offset, { failures, reason: describeError(error) });
}

export async function putAside(shard: Shard, record: InboxRecord, code: string, reason: string): Promise<void> {
  const { raw, place } = record;
  try {
    await commit(shard, { atMs: shard.parts.nowMs(), deadLetters: [{ raw, place, code, reason }] });
  } catch (error) {
    notePoison(shard, place, error);
    throw error;
  }
  shard.parts.poison.delete(place.offset);
  shard.parts.logger.warn({ offset: place.offset, code, reason }, 'request.dead_lettered');
}
