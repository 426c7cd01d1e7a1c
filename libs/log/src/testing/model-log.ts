/**
 * A partition as the definition has it, for property tests: producers run transactions that interleave, commit and abort;
 * the truth of every offset is written down when it happens, so nothing here knows how a reader finds it out.
 */
import type { AbortedTransaction } from '../committed.ts';

export type Action =
  | { readonly kind: 'send'; readonly producer: number; readonly records: number }
  | { readonly kind: 'end'; readonly producer: number; readonly outcome: 'abort' | 'commit' }
  /** Outside any transaction. */
  | { readonly kind: 'plain'; readonly records: number };

export type ModelBatch =
  | {
      readonly kind: 'data';
      readonly first: bigint;
      readonly last: bigint;
      readonly producerId: bigint;
      readonly transactional: boolean;
    }
  | {
      readonly kind: 'marker';
      readonly first: bigint;
      readonly last: bigint;
      readonly producerId: bigint;
      readonly outcome: 'abort' | 'commit';
    };

export interface ModelLog {
  readonly batches: readonly ModelBatch[];
  /** In the order in which the transactions ended, as a broker lists them. */
  readonly aborted: readonly (AbortedTransaction & { readonly markerOffset: bigint })[];
  /** What a read-committed consumer must deliver below the last stable offset. */
  readonly committed: ReadonlySet<bigint>;
  readonly lastStableOffset: bigint;
  readonly highWatermark: bigint;
}

const PLAIN_PRODUCER = -1n;

export function playModel(actions: readonly Action[]): ModelLog {
  const batches: ModelBatch[] = [];
  const aborted: (AbortedTransaction & { markerOffset: bigint })[] = [];
  const committed = new Set<bigint>();
  const open = new Map<number, { first: bigint; offsets: bigint[] }>();
  let next = 0n;
  const append = (records: number): bigint[] => {
    const offsets = Array.from({ length: records }, (_, index) => next + BigInt(index));
    next += BigInt(records);
    return offsets;
  };
  for (const action of actions) {
    const first = next;
    if (action.kind === 'plain') {
      for (const offset of append(action.records)) committed.add(offset);
      batches.push({ kind: 'data', first, last: next - 1n, producerId: PLAIN_PRODUCER, transactional: false });
      continue;
    }
    const producerId = BigInt(action.producer);
    if (action.kind === 'send') {
      const transaction = open.get(action.producer) ?? { first, offsets: [] };
      transaction.offsets.push(...append(action.records));
      open.set(action.producer, transaction);
      batches.push({ kind: 'data', first, last: next - 1n, producerId, transactional: true });
      continue;
    }
    const transaction = open.get(action.producer);
    if (transaction === undefined) continue; // Ending what wrote nothing to this partition leaves no marker.
    open.delete(action.producer);
    append(1);
    batches.push({ kind: 'marker', first, last: first, producerId, outcome: action.outcome });
    if (action.outcome === 'abort') aborted.push({ producerId, firstOffset: transaction.first, markerOffset: first });
    else for (const offset of transaction.offsets) committed.add(offset);
  }
  // Transactions are kept in the order in which they began here.
  const lastStableOffset = open.values().next().value?.first ?? next;
  for (const offset of [...committed]) if (offset >= lastStableOffset) committed.delete(offset);
  return { batches, aborted, committed, lastStableOffset, highWatermark: next };
}

/** What a broker lists beside the batches `[from, to)`: every aborted transaction that touches them, in order of completion. */
export function abortedListFor(log: ModelLog, from: bigint, to: bigint): readonly AbortedTransaction[] {
  return log.aborted.filter(({ firstOffset, markerOffset }) => markerOffset >= from && firstOffset < to);
}
