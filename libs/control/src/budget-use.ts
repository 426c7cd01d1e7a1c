/** How much a job has used of what it may: pure. What is too much is decided by `usedUp` of @tidemark/jobs alone. */
import type { JobState } from '@tidemark/contracts';
import { budgetOf, deadLettersMaxOf, ranMsOf, usedUp } from '@tidemark/jobs';
import type { RangeCounters } from '@tidemark/keyspace';
import { describeCount } from './progress.ts';

export const BudgetName = {
  seconds: 'seconds',
  chunks: 'chunks',
  failures: 'failures',
  deadLetters: 'dead letters',
} as const;
export type BudgetName = (typeof BudgetName)[keyof typeof BudgetName];

export interface BudgetUse {
  readonly name: BudgetName;
  readonly used: bigint;
  /** Undefined = no limit. */
  readonly max: bigint | undefined;
  /** The job is suspended for it, or is about to be. */
  readonly isUsedUp: boolean;
}

const UNLIMITED = { secondsMax: 0n, chunksMax: 0n, failuresMax: 0n };
const DEAD_LETTERS_UNLIMITED = 2n ** 63n - 1n;

/** `counters` are summed over the ranges. Of dead letters as many are allowed as the cap says; of the rest 0 means no limit. */
export function budgetUseOf(state: JobState, counters: RangeCounters, nowMs: number): readonly BudgetUse[] {
  const { secondsMax, chunksMax, failuresMax } = budgetOf(state);
  const deadLettersMax = deadLettersMaxOf(state);
  const use = (name: BudgetName, used: bigint, max: bigint | undefined, alone: Partial<JobState>): BudgetUse => {
    const only = { ...state, budget: UNLIMITED, deadLettersMax: DEAD_LETTERS_UNLIMITED, ...alone };
    return { name, used, max, isUsedUp: usedUp(only, counters, BigInt(nowMs)) !== undefined };
  };
  const limit = (max: bigint): bigint | undefined => (max === 0n ? undefined : max);
  const ranSeconds = ranMsOf(state, BigInt(nowMs)) / 1000n;
  const failures = counters.retries + counters.deadLettered;
  return [
    use(BudgetName.seconds, ranSeconds, limit(secondsMax), { budget: { ...UNLIMITED, secondsMax } }),
    use(BudgetName.chunks, counters.chunks, limit(chunksMax), { budget: { ...UNLIMITED, chunksMax } }),
    use(BudgetName.failures, failures, limit(failuresMax), { budget: { ...UNLIMITED, failuresMax } }),
    use(BudgetName.deadLetters, counters.deadLettered, deadLettersMax, { deadLettersMax }),
  ];
}

const RAISED_BY: Readonly<Record<BudgetName, string>> = {
  seconds: '--max-seconds',
  chunks: '--max-chunks',
  failures: '--max-failures',
  'dead letters': '--max-dead-letters',
};

/** What lets a paused or suspended job go on, with the limits that must be raised for it. */
export function resumeCommand(jobId: string, budget: readonly BudgetUse[]): string {
  const raises = budget.filter(({ isUsedUp }) => isUsedUp).map(({ name }) => ` ${RAISED_BY[name]} N`);
  return `tidemark job resume ${jobId}${raises.join('')}`;
}

/** `12 of 60 seconds, 3 chunks, 0 failures, 0 of 10,000 dead letters`. */
export function describeBudget(budget: readonly BudgetUse[]): string {
  return budget
    .map(
      ({ name, used, max }) => `${describeCount(used)}${max === undefined ? '' : ` of ${describeCount(max)}`} ${name}`,
    )
    .join(', ');
}
