/**
 * Finding the row for which a broker refuses a batch, without knowing why: one row of the batch is to blame, so the next
 * sessions send half of them, then half of the half that is refused. A batch of n rows takes log2(n) refusals. A row
 * that is refused alone is convicted: the next session parks its key instead of sending it.
 */
import type { OutboxRow } from '@tidemark/outbox';

type Placed = Pick<OutboxRow, 'position'>;

export interface Suspects {
  /** The batch was refused: one of these rows is to blame. */
  accuse(refused: readonly Placed[]): void;
  convict(row: Placed, reason: string): void;
  /** Why the row was refused; undefined when it was not. */
  verdictOn(row: Placed): string | undefined;
  /** They are sent, or parked: whatever was held against them is settled. */
  acquit(passed: readonly Placed[]): void;
  /** How many of the rows, from the first, may travel together. */
  prefix(rows: readonly Placed[]): number;
}

/** Kept over sessions. Rows that became visible since travel apart from the suspects, so that a refusal always halves them. */
export function createSuspects(): Suspects {
  let suspects: ReadonlySet<bigint> = new Set();
  const verdicts = new Map<bigint, string>();
  return {
    accuse(refused) {
      suspects = new Set(refused.map(({ position }) => position));
    },
    convict({ position }, reason) {
      verdicts.set(position, reason);
    },
    verdictOn: ({ position }) => verdicts.get(position),
    acquit(passed) {
      if (verdicts.size > 0) for (const { position } of passed) verdicts.delete(position);
      if (suspects.size === 0) return;
      const gone = new Set(passed.map(({ position }) => position));
      suspects = new Set([...suspects].filter((position) => !gone.has(position)));
    },
    prefix(rows) {
      const [first] = rows;
      if (suspects.size === 0 || first === undefined) return rows.length;
      const isSuspect = suspects.has(first.position);
      const end = rows.findIndex(({ position }) => suspects.has(position) !== isSuspect);
      const alike = end === -1 ? rows.length : end;
      return isSuspect ? Math.min(alike, Math.ceil(suspects.size / 2)) : alike;
    },
  };
}
