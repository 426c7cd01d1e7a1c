/** What a job still needs of each partition that it covers. Pure. */
import type { JobState } from '@tidemark/contracts';
import type { FloorPlace } from '@tidemark/cursors';
import { windowsOf } from '@tidemark/jobs';
import { isEmpty, nextOffsetOf, type Offset, offsetMin, type PartitionWindow } from '@tidemark/keyspace';

/** As much of a range as a floor depends on; checkpoints and ranges of the store have it alike. */
export interface Settled {
  readonly partition: number;
  readonly cursor: Offset;
  readonly status: string;
  /** In offset order: passed by the cursor and still to be read again. */
  readonly parked: readonly { readonly offset: Offset }[];
}

export interface Need {
  readonly place: FloorPlace;
  /** The lowest offset that is still needed; behind the window when nothing is. */
  readonly offset: Offset;
}

/** The partitions of a pinned job in which it has something to do. Of an empty window nothing is ever needed. */
export function coveredBy(
  state: JobState,
): readonly { readonly place: FloorPlace; readonly window: PartitionWindow }[] {
  const { pin, request } = state;
  if (pin === null) return [];
  return windowsOf(pin)
    .filter((window) => !isEmpty(window))
    .map((window) => ({
      place: { topic: request.topic, topicId: pin.topicId, partition: window.partition },
      window,
    }));
}

/** A range that is done or stopped needs nothing: whoever stopped it has given its verdict. */
function neededOf(window: PartitionWindow, ranges: readonly Settled[]): Offset {
  const open = ranges.filter(({ status }) => status === 'open').map(lowestNeeded);
  // Without any range nothing is known of it but the pin.
  return open.reduce(offsetMin, nextOffsetOf(ranges.length === 0 ? window.start : window.end));
}

function lowestNeeded({ cursor, parked }: Settled): Offset {
  const [lowest] = parked;
  return offsetMin(nextOffsetOf(cursor), lowest?.offset ?? nextOffsetOf(cursor));
}

export function needsOf(state: JobState, ranges: Iterable<Settled>): readonly Need[] {
  const byPartition = Map.groupBy(ranges, ({ partition }) => partition);
  return coveredBy(state).map(({ place, window }) => ({
    place,
    offset: neededOf(window, byPartition.get(window.partition) ?? []),
  }));
}

/** The window from its first offset on, however far the job is: what an audit reads again. */
export function wholeOf(state: JobState): readonly Need[] {
  return coveredBy(state).map(({ place, window }) => ({ place, offset: nextOffsetOf(window.start) }));
}

export function placeKey({ topic, topicId, partition }: FloorPlace): string {
  return `${topic}/${topicId}/${partition}`;
}
