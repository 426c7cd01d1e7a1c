/** A range as Kafka keeps it, read back: pure. */
import type { LostOffsets, ParkedRecord, RangeCheckpoint } from '@tidemark/contracts';
import {
  type Offset,
  type OffsetInterval,
  type RangeCounters,
  type RangeRef,
  RangeStatus,
  rangeIdOf,
  toOffset,
} from '@tidemark/keyspace';
import { wordOf } from './definition.ts';

export interface StoredParkedRecord extends Omit<ParkedRecord, 'offset' | 'dueAtMs'> {
  readonly offset: Offset;
  /** On the store's clock. */
  readonly dueAtMs: number;
}

/** Without its end, which is where the next one starts: see `deriveEnds`. */
export interface StoredRange extends RangeRef {
  readonly cursor: Offset;
  readonly horizon: Offset;
  readonly status: RangeStatus;
  readonly note: string;
  readonly lost: readonly OffsetInterval<Offset>[];
  /** Lost offsets that were passed; each is one of `counters.lost`. */
  readonly passed: readonly OffsetInterval<Offset>[];
  /** In offset order. */
  readonly parked: readonly StoredParkedRecord[];
  readonly counters: RangeCounters;
  readonly version: bigint;
}

export function rangeOfCheckpoint(checkpoint: RangeCheckpoint): StoredRange {
  return {
    partition: checkpoint.partition,
    start: toOffset(checkpoint.start),
    cursor: toOffset(checkpoint.cursor),
    horizon: toOffset(checkpoint.horizon),
    status: wordOf(RangeStatus, checkpoint.status) ?? RangeStatus.open,
    note: checkpoint.note,
    lost: checkpoint.lost.map(intervalOf),
    passed: checkpoint.passed.map(intervalOf),
    parked: checkpoint.parked.map((record) => ({
      ...record,
      offset: toOffset(record.offset),
      dueAtMs: Number(record.dueAtMs),
    })),
    counters: checkpoint.counters,
    version: checkpoint.version,
  };
}

function intervalOf({ first, last }: LostOffsets): OffsetInterval<Offset> {
  return { first: toOffset(first), last: toOffset(last) };
}

/** The newest checkpoint of each range of one job. The topic is compacted, but shows older ones for a while. */
export class NewestCheckpoints {
  readonly #ranges = new Map<string, RangeCheckpoint>();

  take(checkpoint: RangeCheckpoint): void {
    const rangeId = rangeIdOfCheckpoint(checkpoint);
    const known = this.#ranges.get(rangeId);
    if (known === undefined || checkpoint.version >= known.version) this.#ranges.set(rangeId, checkpoint);
  }

  /** The job was removed: what comes from here on is of a later one under the same id, whose versions begin anew. */
  forget(range: RangeRef): void {
    this.#ranges.delete(rangeIdOf(range));
  }

  all(): readonly RangeCheckpoint[] {
    return [...this.#ranges.values()];
  }
}

export function rangeIdOfCheckpoint({ partition, start }: RangeCheckpoint): string {
  return rangeIdOf({ partition, start: toOffset(start) });
}
