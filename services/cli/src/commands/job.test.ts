import { sampleState } from '@tidemark/jobs/testing';
import { NO_COUNTS } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { exitCodeOfJob } from './job.ts';

it.each([
  ['COMPLETED', 'clean', 0],
  ['COMPLETED', 'dead letters', 8],
  ['COMPLETED', 'loss', 8],
  ['COMPLETED', 'numbers do not add up', 1],
  ['CANCELLED', 'enough', 1],
  ['UNRECOVERABLE', 'OFFSETS_LOST in partition 0', 1],
  ['REFUSED', 'TOPIC_NOT_FOUND: no topic', 1],
  ['SUSPENDED', 'dead letters', 1],
])('a job that is %s (%s) ends a wait with %i', (state, reason, exitCode) => {
  expect(exitCodeOfJob(sampleState({ state, reason, totals: NO_COUNTS }))).toBe(exitCode);
});
