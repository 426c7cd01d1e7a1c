/**
 * Does a stored position fit the database and the topics that are there now? The relay asks before it publishes anything,
 * `tidemark relay status` before anybody starts one, and what does not fit `tidemark relay rebase` repairs.
 */
import { checkIdentity, type DatabaseState } from './identity.ts';
import { type OutboxPosition, startPosition } from './position.ts';
import { follows, type Snapshot, snapshotText } from './snapshot.ts';

/** The one that `partitionOfKey` computes; another one would send a key elsewhere. */
export const PARTITIONER = 'murmur2';

export type PositionFit =
  /** Nothing was published yet. */
  | { readonly kind: 'first' }
  | { readonly kind: 'same' }
  | { readonly kind: 'promoted'; readonly from: number; readonly to: number }
  | { readonly kind: 'foreign'; readonly reason: string }
  | { readonly kind: 'lost'; readonly reason: string };

export interface FitQuestion {
  /** Of the position topic. */
  readonly stored: OutboxPosition | undefined;
  /** What the lease row remembers of it. It is written after the commit that it speaks of, so it may only be behind. */
  readonly witness: Snapshot | undefined;
  readonly now: DatabaseState;
}

export function fitOf({ stored, witness, now }: FitQuestion): PositionFit {
  if (stored === undefined && witness !== undefined) return lost('holds no position', witness);
  const verdict = checkIdentity(stored ?? startPosition(now.identity), now);
  if (stored === undefined) return verdict.kind === 'foreign' ? verdict : { kind: 'first' };
  if (verdict.kind !== 'foreign' && witness !== undefined && !follows(witness, stored.snapshot))
    return lost(`is at ${snapshotText(stored.snapshot)}`, witness);
  return verdict;
}

function lost(state: string, witness: Snapshot): PositionFit {
  return {
    kind: 'lost',
    reason: `the position topic ${state}, but the outbox was published up to ${snapshotText(witness)}: publishing on would repeat events. Was the topic deleted, or the cluster changed?`,
  };
}

export interface TopicMove {
  readonly topic: string;
  readonly from: number;
  readonly to: number;
}

/** Topics whose keys would go to other partitions than before. One that is gone moves nothing. */
export function movesOf(
  published: Readonly<Record<string, number>>,
  found: ReadonlyMap<string, number>,
): readonly TopicMove[] {
  return Object.entries(published).flatMap(([topic, from]) => {
    const to = found.get(topic) ?? from;
    return to === from ? [] : [{ topic, from, to }];
  });
}

export interface PositionFault {
  /** As the relay's error says it, but for a partition count: of that it says ROW_UNSENDABLE at the first row concerned. */
  readonly code: string;
  readonly message: string;
}

export interface Fitting {
  readonly fit: PositionFit;
  readonly moves: readonly TopicMove[];
  /** Undefined without a position. */
  readonly partitioner: string | undefined;
}

export function faultsOf({ fit, moves, partitioner }: Fitting): readonly PositionFault[] {
  const faults: PositionFault[] = [];
  if (fit.kind === 'foreign')
    faults.push({
      code: 'FOREIGN_DATABASE',
      message: `this is not the database that was published so far: ${fit.reason}`,
    });
  if (fit.kind === 'lost') faults.push({ code: 'POSITION_LOST', message: fit.reason });
  if (partitioner !== undefined && partitioner !== PARTITIONER)
    faults.push({
      code: 'PARTITIONER_CHANGED',
      message: `keys were spread by "${partitioner}", this program spreads them by "${PARTITIONER}"`,
    });
  for (const { topic, from, to } of moves)
    faults.push({
      code: 'PARTITIONS_CHANGED',
      message: `topic "${topic}" has ${to} partitions now, and its keys were spread over ${from}`,
    });
  return faults;
}

/** What a person runs; without more it only shows what it would do. */
export function rebaseCommand(relay: string): string {
  return `tidemark relay rebase${relay === 'main' ? '' : ` --name ${relay}`}`;
}
