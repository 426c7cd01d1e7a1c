/** What happens to a range now, in one word. */
import type { RangeState } from '@tidemark/cursors';
import { RangeStatus } from '@tidemark/keyspace';

export const RangeWord = {
  done: 'done',
  working: 'working',
  waiting: 'waiting',
  /** Its owner has not renewed the lease, and nobody took it over yet. */
  expired: 'lease expired',
  stopped: 'stopped',
} as const;
export type RangeWord = (typeof RangeWord)[keyof typeof RangeWord];

/** An owner without a known lease (a checkpoint tells none) counts as gone. */
export function wordOfRange(
  range: Pick<RangeState, 'status' | 'owner'> & Partial<Pick<RangeState, 'leaseUntilMs'>>,
  storeNowMs: number,
): RangeWord {
  if (range.status === RangeStatus.done) return RangeWord.done;
  if (range.status === RangeStatus.stopped) return RangeWord.stopped;
  if (range.owner === '') return RangeWord.waiting;
  return (range.leaseUntilMs ?? 0) > storeNowMs ? RangeWord.working : RangeWord.expired;
}
