/** P10: the numbers of a range and of a job, and the proof that they add up. */
import { explainedOffsets, IDENTITY_TERMS, type Offset, type RangeCounters, sumCounters } from '@tidemark/keyspace';

export interface CountedRange {
  readonly partition: number;
  readonly start: Offset;
  readonly end: Offset;
  readonly cursor: Offset;
  readonly counters: RangeCounters;
}

export type Identity =
  | { readonly kind: 'holds' }
  /** `missing` offsets are in no term (negative: counted twice); `terms` spells the sum out. */
  | { readonly kind: 'broken'; readonly missing: bigint; readonly terms: string };

/** `cursor - start` = the sum of the terms; for a finished range the cursor is its end. */
export function identityOf(range: CountedRange): Identity {
  return identity(range.cursor - range.start, range.counters);
}

export function identityOfJob(ranges: readonly CountedRange[]): Identity {
  const span = ranges.reduce((sum, range) => sum + (range.cursor - range.start), 0n);
  return identity(span, sumCounters(ranges.map(({ counters }) => counters)));
}

function identity(span: bigint, counters: RangeCounters): Identity {
  const counted = explainedOffsets(counters);
  if (counted === span) return { kind: 'holds' };
  const terms = IDENTITY_TERMS.map((term) => `${term} ${counters[term]}`).join(' + ');
  return { kind: 'broken', missing: span - counted, terms: `${span} offsets, but ${terms} = ${counted}` };
}

export interface Progress {
  readonly offsetsTotal: bigint;
  readonly offsetsDone: bigint;
  /** 0 to 100 in steps of 0.1, 100 only when everything is done; a window without offsets is 100. Always finite. */
  readonly percent: number;
}

export function progressOf(ranges: readonly Pick<CountedRange, 'start' | 'end' | 'cursor'>[]): Progress {
  let offsetsTotal = 0n;
  let offsetsDone = 0n;
  for (const range of ranges) {
    offsetsTotal += range.end - range.start;
    offsetsDone += range.cursor - range.start;
  }
  // Whole per mille in bigint: exact at any size, and rounded down, so that 99.99 % is not shown as done.
  const percent = offsetsTotal === 0n ? 100 : Number((offsetsDone * 1000n) / offsetsTotal) / 10;
  return { offsetsTotal, offsetsDone, percent };
}
