/** What a handler returned, before it is believed: handlers in plain JavaScript may forget an outcome, or return something else. */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { Outcome } from './handler.ts';

/** One outcome for all records of a call, or one for each. */
export type Answer = Outcome | readonly Outcome[];

/** Whether it says what came of each of `count` records. */
export function isAnswer(answer: Answer | undefined, count: number): boolean {
  return isOneForEach(answer) ? answer.length === count && answer.every(isOutcome) : isOutcome(answer);
}

export function isOneForEach(answer: Answer | undefined): answer is readonly Outcome[] {
  return Array.isArray(answer);
}

export function badAnswer(answer: Answer | undefined): TidemarkError {
  const what = isOneForEach(answer) ? `a list of ${answer.length}` : typeof answer;
  return new TidemarkError({
    code: 'BAD_OUTCOME',
    class: ErrorClass.data,
    message: `the handler must return done(), skip(reason) or fenced(seen), for a batch one for all or one for each; it returned ${what}`,
  });
}

function isOutcome(outcome: Outcome | undefined): boolean {
  return outcome?.kind === 'done' || outcome?.kind === 'skip' || outcome?.kind === 'fenced';
}
