/** What a cycle says of each partition. */
import type { Offset } from '@tidemark/keyspace';
import type { TopicDescription } from '@tidemark/log';
import type { Overdue } from './hold.ts';
import type { Releases, Removal } from './watch.ts';

export const PartitionOutcome = {
  /** Records were removed. */
  cut: 'cut',
  /** The policy passes nothing that is still there. */
  idle: 'idle',
  /** The policy would pass more than a floor allows, and everything below the floor is gone. */
  held: 'held',
  /** No job has covered the partition yet, so nobody has said what is needed of it. */
  unread: 'unread',
  /** The store does not know all floors. Nothing is cut. */
  incomplete: 'incomplete',
  /** A floor or a mark lies beyond the log: it went back, or somebody is wrong. Nothing is cut. */
  beyondLog: 'beyond_log',
  /** The topic is missing, or compacted. */
  refused: 'refused',
  /** Another guard took its turn. */
  yielded: 'yielded',
  failed: 'failed',
} as const;
export type PartitionOutcome = (typeof PartitionOutcome)[keyof typeof PartitionOutcome];

/** Records that somebody else removed. */
export interface ReportedRemoval extends Removal {
  /** Found by this cycle; else it was found before, and its holders still wait. */
  readonly isNew: boolean;
}

export type ReportedRelease = Releases[number] & { readonly isNew: boolean };

export interface PartitionReport {
  readonly topic: string;
  /** Undefined when it is about the whole topic. */
  readonly partition: number | undefined;
  readonly outcome: PartitionOutcome;
  /** Empty when there is nothing to explain. */
  readonly reason: string;
  readonly logStartOffset?: Offset;
  readonly highWatermark?: Offset;
  /** Below which the policy alone would cut. */
  readonly target?: Offset;
  readonly mark?: Offset;
  /** The lowest floor and who holds it; undefined when nobody does. */
  readonly floor?: Offset | undefined;
  readonly holder?: string | undefined;
  /** Where each named group goes on; undefined where that is not known. */
  readonly groups?: ReadonlyMap<string, Offset | undefined>;
  /** By somebody else: found by this cycle, or before and still missed by who needs them. */
  readonly removals?: readonly ReportedRemoval[];
  /** Jobs whose floor holds nothing any more: they held for too long, and `fromOffset` on may go under them. */
  readonly releases?: readonly ReportedRelease[];
  /** Jobs that hold what the policy would remove for longer than they may. */
  readonly overdue?: readonly Overdue[];
  /** Offsets removed by this cycle. */
  readonly cutOffsets: bigint;
  /** Offsets that only a floor keeps. */
  readonly heldOffsets: bigint;
}

export interface StaleFloor {
  readonly topic: string;
  readonly partition: number;
  readonly holder: string;
}

export interface CycleReport {
  /** Those that were looked after, as they were found. */
  readonly topics: readonly TopicDescription[];
  readonly partitions: readonly PartitionReport[];
  /** Settings under which the broker itself would remove records, by topic. */
  readonly drift: ReadonlyMap<string, readonly string[]>;
  /** Such settings that this cycle has set to ours, as they were, by topic. */
  readonly repaired: ReadonlyMap<string, readonly string[]>;
  /** Topics that were deleted and created again, what that means, and what to do. */
  readonly recreated: ReadonlyMap<string, string>;
  /** Floors of jobs that ended long ago: a crash had left them, and this cycle dropped them. */
  readonly staleFloors: readonly StaleFloor[];
}
