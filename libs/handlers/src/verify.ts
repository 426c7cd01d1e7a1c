/**
 * What a handler answers when an audit asks whether the effect of a record is there. The log tells what was handed over, only
 * the sink tells what came of it.
 */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';

export type Verdict =
  | { readonly kind: 'present' }
  | { readonly kind: 'duplicate'; readonly count: number }
  | { readonly kind: 'missing' }
  | { readonly kind: 'none due'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string };

const PRESENT: Verdict = { kind: 'present' };
const MISSING: Verdict = { kind: 'missing' };

/** The effect is there, once. */
export const present = (): Verdict => PRESENT;
/** It is there `count` times, 2 or more. */
export const duplicate = (count: number): Verdict => ({ kind: 'duplicate', count });
/** It is not there. The audit lets as many pass as were skipped: which those were nobody kept. */
export const missing = (): Verdict => MISSING;
/** It is not there and should not be, by a rule that still shows ("no address"). Look for the effect first. */
export const noneDue = (reason: string): Verdict => ({ kind: 'none due', reason });
/** Nobody can tell any more ("archived"): such records make an audit not provable, never wrong. */
export const unknown = (reason: string): Verdict => ({ kind: 'unknown', reason });

/** What a `verify` returned, before it is believed. Throws TidemarkError `data` (BAD_VERDICT) that says what it must return. */
export function checkedVerdicts(answer: unknown, count: number): readonly Verdict[] {
  if (Array.isArray(answer) && answer.length === count) {
    const bad = answer.findIndex((verdict) => !isVerdict(verdict));
    if (bad === -1) return answer;
    throw badVerdict(count, `something else at place ${bad}`);
  }
  throw badVerdict(count, Array.isArray(answer) ? `a list of ${answer.length}` : typeof answer);
}

function isVerdict(candidate: unknown): candidate is Verdict {
  if (typeof candidate !== 'object' || candidate === null) return false;
  const { kind, count, reason } = candidate as { readonly [field: string]: unknown };
  if (kind === 'duplicate') return Number.isSafeInteger(count) && Number(count) >= 2;
  if (kind === 'none due' || kind === 'unknown') return typeof reason === 'string';
  return kind === 'present' || kind === 'missing';
}

function badVerdict(count: number, what: string): TidemarkError {
  return new TidemarkError({
    code: 'BAD_VERDICT',
    class: ErrorClass.data,
    message: `verify must return a list with one of present(), duplicate(2 or more), missing(), noneDue(reason) and unknown(reason) for each of its ${count} records; it returned ${what}`,
  });
}
