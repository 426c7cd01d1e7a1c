/** What a job may use up, as it was requested or as a command raised it, and whether it has. Pure. */
import type { Budget, Counters, JobState } from '@tidemark/contracts';
import { ranMsOf } from './job-state.ts';

export function budgetOf({ budget, request }: JobState): Budget {
  return budget ?? request.budget;
}

export function deadLettersMaxOf({ deadLettersMax, request }: JobState): bigint {
  return deadLettersMax < 0n ? request.deadLettersMax : deadLettersMax;
}

/** Of a request or a command, as sentences. */
export function budgetFaults(budget: Budget): readonly string[] {
  return (['secondsMax', 'chunksMax', 'failuresMax'] as const)
    .filter((name) => budget[name] < 0n)
    .map((name) => `budget.${name} ${budget[name]} is negative`);
}

/** Why a job with these totals since its start must not go on; undefined when it may. */
export function usedUp(state: JobState, totals: Counters, nowMs: bigint): string | undefined {
  const deadLettersMax = deadLettersMaxOf(state);
  if (totals.deadLettered > deadLettersMax)
    return `dead letters: ${totals.deadLettered}, the job allows ${deadLettersMax}`;
  const { secondsMax, chunksMax, failuresMax } = budgetOf(state);
  return (
    spent('seconds of running', ranMsOf(state, nowMs) / 1000n, secondsMax) ??
    spent('chunks', totals.chunks, chunksMax) ??
    spent('failed attempts', totals.retries + totals.deadLettered, failuresMax)
  );
}

function spent(what: string, used: bigint, max: bigint): string | undefined {
  return max > 0n && used >= max ? `budget: ${used} ${what}, the job may use up ${max}` : undefined;
}
