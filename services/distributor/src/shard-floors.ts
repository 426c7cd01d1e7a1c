/** The keeper of a shard's floors, with what the shard knows: the book, patience, and whether it is the youngest. */

import { randomUUID } from 'node:crypto';
import type { CursorStore, FloorPlace } from '@tidemark/cursors';
import { type DurableMarks, type MarkLog, rangeOfCheckpoint } from '@tidemark/jobs';
import { isOutage, monotonicNowMs, type Offset, offsetMin } from '@tidemark/keyspace';
import { createFloorKeeper, type FloorKeeper, type FloorKeeperParts } from './floor-keeper.ts';
import { eachOf } from './in-slices.ts';
import type { JobBook, LiveJob } from './job-book.ts';
import { MARKS_WAIT_MS } from './limits.ts';
import { type Need, needsOf, placeKey, type Settled } from './needs.ts';
import type { Patience } from './patience.ts';

export interface ShardFloors {
  readonly keeper: FloorKeeper;
  /** Places that have a mark: their topics may have no job any more. */
  readonly marked: () => Promise<readonly FloorPlace[]>;
  /** What guards wrote of the logs, as far as it can be read now; undefined when it cannot. */
  readonly watches: () => Promise<DurableMarks['watches'] | undefined>;
  /** All that were ever filled here, by key: a place stays one when the book has forgotten its jobs. */
  readonly places: Map<string, FloorPlace>;
  /** When all places were last looked after, on the monotonic clock; undefined when it must be done at once. */
  checkedAtMs: number | undefined;
}

/** What is needed whatever the ranges of a job say, of what is durable. */
export type StandingNeeds = () => Iterable<{ readonly holder: string; readonly needs: readonly Need[] }>;

export function createShardFloors(
  options: Pick<FloorKeeperParts, 'store' | 'prove'> & {
    readonly loadMarks: MarkLog['load'];
    readonly book: JobBook;
    readonly patience: Patience;
    readonly cursors: Pick<CursorStore, 'snapshot'>;
    readonly standingNeeds: StandingNeeds;
  },
): ShardFloors {
  const { patience, cursors } = options;
  // Whoever sets a bound to it comes again by itself.
  const loadMarks: FloorKeeperParts['loadMarks'] = (bound) =>
    bound === undefined ? patience({ dependency: 'kafka' }, options.loadMarks) : options.loadMarks(bound);
  return {
    keeper: createFloorKeeper({
      store: patiently(options.store, patience),
      loadMarks,
      readFloors: () =>
        readFloors(options, (jobId) => patience({ dependency: 'cursor store' }, () => cursors.snapshot(jobId))),
      // Not waited for: a commit that failed must not be tried again in the same session.
      prove: options.prove,
      newLife: randomUUID,
    }),
    marked: async () => [...(await loadMarks()).marks.values()],
    watches: async () => {
      try {
        return (await options.loadMarks({ openTransactionWaitMs: MARKS_WAIT_MS })).watches;
      } catch (error) {
        if (isOutage(error)) return undefined;
        throw error;
      }
    },
    places: new Map(),
    checkedAtMs: monotonicNowMs(),
  };
}

/** What a restore would yield now. */
export function acknowledgedRanges(job: LiveJob): readonly Settled[] {
  return [...job.checkpoints.values()].map(rangeOfCheckpoint);
}

/** What was durable first, the store after that; a job that the store lost, or shows elsewhere, is restored from the former. */
async function readFloors(
  { book, standingNeeds }: { readonly book: JobBook; readonly standingNeeds: StandingNeeds },
  snapshotOf: (jobId: string) => ReturnType<CursorStore['snapshot']>,
): ReturnType<FloorKeeperParts['readFloors']> {
  const floors = new Map<string, { holder: string; offset: Offset }[]>();
  await eachOf(book.accepted(), async (job) => {
    const acknowledged = needsOf(job.state, acknowledgedRanges(job));
    const snapshot = await snapshotOf(job.jobId);
    const stored = new Map(
      needsOf(job.state, snapshot?.ranges ?? []).map((need) => [placeKey(need.place), need.offset]),
    );
    for (const { place, offset } of acknowledged) {
      const key = placeKey(place);
      const lowest = snapshot === undefined ? offset : offsetMin(offset, stored.get(key) ?? offset);
      floors.set(key, [...(floors.get(key) ?? []), { holder: job.jobId, offset: lowest }]);
    }
  });
  for (const { holder, needs } of standingNeeds())
    for (const { place, offset } of needs) {
      const key = placeKey(place);
      floors.set(key, [...(floors.get(key) ?? []), { holder, offset }]);
    }
  return (place) => floors.get(placeKey(place)) ?? [];
}

function patiently(store: FloorKeeperParts['store'], patience: Patience): FloorKeeperParts['store'] {
  const call = <T>(attempt: () => Promise<T>): Promise<T> => patience({ dependency: 'cursor store' }, attempt);
  return {
    reserve: (request) => call(() => store.reserve(request)),
    confirm: (request) => call(() => store.confirm(request)),
    raise: (request) => call(() => store.raise(request)),
    drop: (request) => call(() => store.drop(request)),
    withhold: (request) => call(() => store.withhold(request)),
    install: (request) => call(() => store.install(request)),
    incarnation: () => call(() => store.incarnation()),
  };
}
