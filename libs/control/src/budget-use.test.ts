import { sampleRequest, sampleState } from '@tidemark/jobs/testing';
import { NO_COUNTS } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { budgetUseOf, describeBudget, resumeCommand } from './budget-use.ts';

const NOW_MS = 1_700_000_012_999;
const COUNTERS = { ...NO_COUNTS, chunks: 7n, retries: 4n, deadLettered: 2n };
const request = sampleRequest({ budget: { secondsMax: 60n, chunksMax: 0n, failuresMax: 5n }, deadLettersMax: 0n });

it('tells what is used of what: seconds in RUNNING, chunks, failed attempts, dead letters', () => {
  const state = sampleState({ request, ranMs: 30_000n, runningSinceMs: 1_700_000_000_000n });
  expect(budgetUseOf(state, COUNTERS, NOW_MS)).toEqual([
    { name: 'seconds', used: 42n, max: 60n, isUsedUp: false },
    { name: 'chunks', used: 7n, max: undefined, isUsedUp: false },
    { name: 'failures', used: 6n, max: 5n, isUsedUp: true },
    { name: 'dead letters', used: 2n, max: 0n, isUsedUp: true },
  ]);
});

it('says it in words, and which limits a resume must raise', () => {
  const budget = budgetUseOf(sampleState({ request, state: 'SUSPENDED', ranMs: 1_000n }), COUNTERS, NOW_MS);
  expect(describeBudget(budget)).toBe('1 of 60 seconds, 7 chunks, 6 of 5 failures, 2 of 0 dead letters');
  expect(resumeCommand('job-1', budget)).toBe('tidemark job resume job-1 --max-failures N --max-dead-letters N');
});

it('a raised limit counts, and the clock stands still while the job does not run', () => {
  const state = sampleState({
    request,
    state: 'PAUSED',
    ranMs: 30_000n,
    runningSinceMs: 0n,
    budget: { secondsMax: 0n, chunksMax: 9n, failuresMax: 5n },
    deadLettersMax: 3n,
  });
  expect(budgetUseOf(state, COUNTERS, NOW_MS).map(({ used, max }) => [used, max])).toEqual([
    [30n, undefined],
    [7n, 9n],
    [6n, 5n],
    [2n, 3n],
  ]);
});
