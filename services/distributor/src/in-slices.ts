import { inSlices } from '@tidemark/keyspace';
import { SNAPSHOTS_AT_ONCE } from './limits.ts';

/** A bounded number at a time. */
export function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  return inSlices(items, { atOnce: SNAPSHOTS_AT_ONCE }, work);
}
