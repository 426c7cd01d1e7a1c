/** What the sessions were told of their transactions, held against what the database has of them. Pure. */

export type Outcome =
  | 'committed'
  /** Answered before it was flushed: a crash may take it back. */
  | 'committed lazily'
  | 'rolled back'
  /** The connection broke between the question and the answer. */
  | 'unknown';

export type Ledger = Map<string, Outcome>;

export interface Settlement {
  readonly transactions: number;
  readonly rolledBack: number;
  /** Without an answer, and in the database; and not. */
  readonly unknownCommitted: number;
  readonly unknownGone: number;
  /** Answered, not flushed, and taken back by a crash. */
  readonly lazilyGone: number;
  /** What no server may do, as sentences. */
  readonly contradictions: readonly string[];
}

export function settle(ledger: ReadonlyMap<string, Outcome>, signed: ReadonlySet<string>): Settlement {
  const count = (outcome: Outcome, isSigned: boolean): number =>
    [...ledger].filter(([label, told]) => told === outcome && signed.has(label) === isSigned).length;
  const contradictions: string[] = [];
  const never = (times: number, sentence: string): void => {
    if (times > 0) contradictions.push(`${times} ${sentence}`);
  };
  never(count('committed', false), 'transactions were answered as committed and are not in the database');
  never(count('rolled back', true), 'transactions were rolled back and are in the database');
  never([...signed].filter((label) => !ledger.has(label)).length, 'transactions are in the database that nobody made');
  return {
    transactions: ledger.size,
    rolledBack: count('rolled back', false),
    unknownCommitted: count('unknown', true),
    unknownGone: count('unknown', false),
    lazilyGone: count('committed lazily', false),
    contradictions,
  };
}
