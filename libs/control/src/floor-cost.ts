/** What a job would keep in the log that nobody keeps now: pure. */
import { type Floor, type FloorLook, holdingFloors } from '@tidemark/cursors';
import { nextOffsetOf, type Window } from '@tidemark/keyspace';

export interface FloorFacts {
  readonly window: Window;
  readonly highWatermark: bigint;
  /** Payload; undefined while nothing of the window could be read. */
  readonly bytesPerOffset: number | undefined;
  /** Epoch ms, of the first record of the window. */
  readonly oldestMs: bigint | null;
  /** Undefined while the store cannot tell: it is down, or not filled here. */
  readonly look: FloorLook | undefined;
  /** Reservations run out by the store's clock; ours is near enough to look. */
  readonly nowMs: number;
}

export interface FloorCost {
  /** From here on the log is held until the job has passed it. */
  readonly offset: bigint;
  /** Up to the end of the log. */
  readonly heldOffsets: bigint;
  readonly heldBytes: bigint | null;
  /** Of a job or series; null when nobody holds anything, or it is not known. */
  readonly lowestNow: Pick<Floor, 'holder' | 'offset'> | null;
  /** What is held by this job alone; null when it is not known who else does. */
  readonly moreOffsets: bigint | null;
  readonly moreBytes: bigint | null;
  /** Below it guards may have cut already; null while it is not known. */
  readonly mark: bigint | null;
  /** How far guards could go, and could not any more: from the mark to the floor they still can. */
  readonly aboveMark: bigint | null;
  readonly oldestMs: bigint | null;
}

/** Of a window that is not empty: an empty one holds nothing. */
export function floorCostOf(facts: FloorFacts): FloorCost {
  const { look, highWatermark, bytesPerOffset, oldestMs } = facts;
  const offset: bigint = nextOffsetOf(facts.window.start);
  const [lowest] = look === undefined ? [] : holdingFloors(look, facts.nowMs);
  const heldOffsets = atLeastZero(highWatermark - offset);
  const heldFrom = lowest === undefined || lowest.offset > highWatermark ? highWatermark : lowest.offset;
  const moreOffsets = look === undefined ? null : atLeastZero(heldFrom - offset);
  const bytesOf = (offsets: bigint): bigint | null =>
    bytesPerOffset === undefined ? null : BigInt(Math.round(Number(offsets) * bytesPerOffset));
  return {
    offset,
    heldOffsets,
    heldBytes: bytesOf(heldOffsets),
    lowestNow: lowest === undefined ? null : { holder: lowest.holder, offset: lowest.offset },
    moreOffsets,
    moreBytes: moreOffsets === null ? null : bytesOf(moreOffsets),
    mark: look?.mark ?? null,
    aboveMark: look === undefined ? null : offset - look.mark,
    oldestMs,
  };
}

function atLeastZero(value: bigint): bigint {
  return value > 0n ? value : 0n;
}
