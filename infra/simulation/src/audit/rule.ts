/** A promise as a check: told of every event in turn, with the ledger as it was before, and asked once more at the end. */
import type { History, HistoryEvent } from '../history.ts';
import type { JobLedger, Ledger } from './ledger.ts';

export interface Rule {
  readonly before?: (event: HistoryEvent, ledger: Ledger) => Iterable<string>;
  readonly after?: (event: HistoryEvent, ledger: Ledger) => Iterable<string>;
  readonly atEnd?: (history: History, ledger: Ledger) => Iterable<string>;
}

/** Answers of the store that changed something, or let somebody go on. */
export const ACCEPTED: ReadonlySet<string> = new Set([
  'granted',
  'renewed',
  'claimed',
  'advanced',
  'settled',
  'released',
  'stopped',
  'split',
]);

export function rangeName(job: JobLedger, range: { readonly partition: number; readonly start: bigint }): string {
  return `${job.facts.jobId} ${range.partition}:${range.start}`;
}

/** (from, to] */
export function* offsets(from: bigint, to: bigint): Iterable<bigint> {
  for (let offset = from + 1n; offset <= to; offset++) yield offset;
}
