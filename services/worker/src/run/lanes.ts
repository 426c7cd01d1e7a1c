/**
 * Which record of a chunk may start next. A lane is a sequence of records that must not run at the same time: the whole
 * chunk under ordering `partition`, the records of one key under `key`, each record for itself under `none`. Records
 * without a key have no order among themselves.
 *
 * Lower offsets go first, and within that the successor of a record that just finished, so that the settled prefix grows.
 */

import { Ordering } from '@tidemark/jobs';
import { assertNever } from '@tidemark/keyspace';

export interface Lanes {
  /** The index to start now; undefined when none may start before another one has finished, or none is left. */
  next(): number | undefined;
  finished(index: number): void;
}

export interface LanesInput {
  readonly ordering: Ordering;
  /** Records to run, in offset order. */
  readonly indexes: readonly number[];
  /** The key of a record; only asked under ordering `key`. */
  readonly keyOf: (index: number) => Buffer | null;
}

export function createLanes(input: LanesInput): Lanes {
  switch (input.ordering) {
    case Ordering.none:
      return freeLanes(input.indexes);
    case Ordering.partition:
      return chainedLanes(input.indexes, () => 'all');
    case Ordering.key:
      // latin1 maps bytes to characters one to one, so different keys never meet.
      return chainedLanes(input.indexes, (index) => input.keyOf(index)?.toString('latin1'));
    default:
      return assertNever(input.ordering);
  }
}

function freeLanes(indexes: readonly number[]): Lanes {
  let place = 0;
  return { next: () => indexes[place++], finished: () => undefined };
}

function chainedLanes(indexes: readonly number[], laneOf: (index: number) => string | undefined): Lanes {
  const successors = new Map<number, number>();
  const heads: number[] = [];
  const lastOfLane = new Map<string, number>();
  for (const index of indexes) {
    const lane = laneOf(index);
    const before = lane === undefined ? undefined : lastOfLane.get(lane);
    if (before === undefined) heads.push(index);
    else successors.set(before, index);
    if (lane !== undefined) lastOfLane.set(lane, index);
  }
  const released: number[] = [];
  let place = 0;
  return {
    next: () => released.shift() ?? heads[place++],
    finished(index) {
      const successor = successors.get(index);
      if (successor !== undefined) released.push(successor);
    },
  };
}
