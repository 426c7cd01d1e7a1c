/** What a session remembers from one look for removable jobs to the next. */
import type { RequestsRead } from './removal-plan.ts';

export interface RemovalTurn {
  /** On the monotonic clock; undefined when it must be done at once. */
  lookedAtMs: number | undefined;
  looks: number;
  /** The end of the jobs topic at an instant; when the position has passed it, everything from before that instant is decided. */
  asked: (RequestsRead & { readonly end: bigint }) | undefined;
  /** Jobs that were no runs were removed under the present epoch, so their ids may come again. */
  hasFreedIds: boolean;
}

export function firstRemovalTurn(): RemovalTurn {
  return { lookedAtMs: undefined, looks: 0, asked: undefined, hasFreedIds: false };
}
