/** What one partition must keep, and for whom: pure. The same for the command line and the console. */
import { type Floor, type FloorLook, holdingFloors, lowestFloor } from '@tidemark/cursors';
import { offsetMax } from '@tidemark/keyspace';
import type { PartitionOffsets } from '@tidemark/log';

export const RetentionState = {
  /** Nobody needs anything here. */
  free: 'free',
  held: 'held',
  /** The guard removes nothing here until the distributor has told the store who holds what. */
  notFilled: 'not filled',
  /** The log begins above the lowest floor. */
  recordsRemoved: 'records removed',
  unknown: 'unknown',
} as const;
export type RetentionState = (typeof RetentionState)[keyof typeof RetentionState];

export interface RetentionFacts {
  /** Undefined while the broker does not tell. */
  readonly offsets: PartitionOffsets | undefined;
  /** Undefined while the store is not filled here; `unknown` while nobody has looked. */
  readonly look: FloorLook | undefined | 'unknown';
  /** Reservations run out by the store's clock. */
  readonly storeNowMs: number;
}

export interface Retention {
  readonly state: RetentionState;
  /** Below it nothing is promised any more. */
  readonly mark: bigint | undefined;
  readonly floor: Floor | undefined;
  /** Who holds something now, the lowest floor first. */
  readonly holders: readonly Floor[];
  /** From the floor to the end of the log, records that are gone not counted; undefined while it is not known. */
  readonly heldOffsets: bigint | undefined;
  /** From the log start to the floor; negative when records were removed that somebody needs. */
  readonly margin: bigint | undefined;
}

export function retentionOf({ offsets, look, storeNowMs }: RetentionFacts): Retention {
  if (look === 'unknown' || look === undefined) {
    const state = look === undefined ? RetentionState.notFilled : RetentionState.unknown;
    return { state, mark: undefined, floor: undefined, holders: [], heldOffsets: undefined, margin: undefined };
  }
  const holders = holdingFloors(look, storeNowMs);
  const floor = lowestFloor({ floors: holders });
  const known = { mark: look.mark, floor, holders };
  if (floor === undefined) return { ...known, state: RetentionState.free, heldOffsets: 0n, margin: undefined };
  if (offsets === undefined)
    return { ...known, state: RetentionState.unknown, heldOffsets: undefined, margin: undefined };
  const { logStartOffset, highWatermark } = offsets;
  const held = highWatermark - offsetMax(floor.offset, logStartOffset);
  const margin = floor.offset - logStartOffset;
  const state = margin < 0n ? RetentionState.recordsRemoved : RetentionState.held;
  return { ...known, state, heldOffsets: held > 0n ? held : 0n, margin };
}
