import { NO_COUNTS } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { usedUp } from './budget.ts';
import { sampleRequest, sampleState } from './testing/index.ts';

const since = 1_700_000_000_000n;
const state = (budget: Partial<ReturnType<typeof sampleRequest>['budget']>, ranMs = 0n) =>
  sampleState({
    request: sampleRequest({
      budget: { secondsMax: 0n, chunksMax: 0n, failuresMax: 0n, ...budget },
      deadLettersMax: 5n,
    }),
    runningSinceMs: since,
    ranMs,
  });

it('without a budget nothing is used up', () => {
  const totals = { ...NO_COUNTS, chunks: 1_000_000n, retries: 1_000_000n };
  expect(usedUp(state({}), totals, since + 10n ** 12n)).toBeUndefined();
});

it('counts seconds in RUNNING from the start of the job, those before a pause included', () => {
  const job = state({ secondsMax: 10n }, 4_000n);
  expect(usedUp(job, NO_COUNTS, since + 5_999n)).toBeUndefined();
  expect(usedUp(job, NO_COUNTS, since + 6_000n)).toBe('budget: 10 seconds of running, the job may use up 10');
  expect(usedUp({ ...job, state: 'PAUSED' }, NO_COUNTS, since + 60_000n)).toBeUndefined();
});

it('counts chunks, and retries and dead letters as failures', () => {
  expect(usedUp(state({ chunksMax: 3n }), { ...NO_COUNTS, chunks: 2n }, since)).toBeUndefined();
  expect(usedUp(state({ chunksMax: 3n }), { ...NO_COUNTS, chunks: 3n }, since)).toBe(
    'budget: 3 chunks, the job may use up 3',
  );
  const failed = { ...NO_COUNTS, retries: 2n, deadLettered: 1n };
  expect(usedUp(state({ failuresMax: 4n }), failed, since)).toBeUndefined();
  expect(usedUp(state({ failuresMax: 3n }), failed, since)).toBe('budget: 3 failed attempts, the job may use up 3');
});

it('allows as many dead letters as the cap, and a raised cap or budget counts instead of the requested one', () => {
  const five = { ...NO_COUNTS, deadLettered: 5n };
  const six = { ...NO_COUNTS, deadLettered: 6n };
  expect(usedUp(state({}), five, since)).toBeUndefined();
  expect(usedUp(state({}), six, since)).toBe('dead letters: 6, the job allows 5');
  expect(usedUp({ ...state({}), deadLettersMax: 6n }, six, since)).toBeUndefined();
  const raised = { ...state({ chunksMax: 3n }), budget: { secondsMax: 0n, chunksMax: 4n, failuresMax: 0n } };
  expect(usedUp(raised, { ...NO_COUNTS, chunks: 3n }, since)).toBeUndefined();
});
