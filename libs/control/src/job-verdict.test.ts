import { NO_COUNTS } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { isOver, JobVerdict, jobVerdictOf } from './job-verdict.ts';

it.each([
  ['REQUESTED', '', JobVerdict.requested, false],
  ['RUNNING', '', JobVerdict.running, false],
  ['PAUSING', '', JobVerdict.stopping, false],
  ['PAUSED', 'lunch', JobVerdict.paused, false],
  ['CANCELLING', '', JobVerdict.stopping, false],
  ['SUSPENDED', 'dead letters', JobVerdict.suspended, false],
  ['COMPLETED', 'clean', JobVerdict.clean, true],
  ['COMPLETED', 'dead letters', JobVerdict.withFaults, true],
  ['COMPLETED', 'loss', JobVerdict.withFaults, true],
  ['COMPLETED', 'numbers do not add up', JobVerdict.doesNotAddUp, true],
  ['CANCELLED', '', JobVerdict.cancelled, true],
  ['UNRECOVERABLE', 'offsets lost', JobVerdict.unrecoverable, true],
  ['REFUSED', 'TOPIC_NOT_FOUND: …', JobVerdict.refused, true],
  ['A_STATE_OF_TOMORROW', '', JobVerdict.running, false],
])('%s (%s) is %s', (state, reason, verdict, over) => {
  expect(jobVerdictOf({ state, reason, totals: null })).toBe(verdict);
  expect(isOver(verdict)).toBe(over);
});

it('believes the numbers more than the word: a "clean" job with a lost offset is not clean', () => {
  const job = { state: 'COMPLETED', reason: 'clean' };
  expect(jobVerdictOf({ ...job, totals: NO_COUNTS })).toBe(JobVerdict.clean);
  expect(jobVerdictOf({ ...job, totals: { ...NO_COUNTS, lost: 1n } })).toBe(JobVerdict.withFaults);
  expect(jobVerdictOf({ ...job, totals: { ...NO_COUNTS, deadLettered: 1n } })).toBe(JobVerdict.withFaults);
});
