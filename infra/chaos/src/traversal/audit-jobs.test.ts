import type { JobState } from '@tidemark/contracts';
import { NO_COUNTS } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { jobComplaints, numberComplaints } from './audit-jobs.ts';
import type { AskedJob } from './job-desk.ts';

const asked: AskedJob = {
  jobId: 'chaos-1',
  topic: 'orders',
  ordering: 'none',
  mode: undefined,
  salt: 0,
  isExact: false,
  windows: [
    { partition: 0, first: 10n, last: 19n },
    { partition: 1, first: 5n, last: 4n },
  ],
};

function state(fields: { state?: string; windows?: readonly (readonly [number, bigint, bigint])[]; totals?: object }) {
  const partitions = (fields.windows ?? [[0, 9n, 19n]]).map(([partition, start, end]) => ({ partition, start, end }));
  const totals = { ...NO_COUNTS, ok: 8n, deadLettered: 2n, maybeRedelivered: 5n, ...fields.totals };
  return {
    jobId: 'chaos-1',
    state: fields.state ?? 'COMPLETED',
    reason: '',
    pin: { partitions },
    totals,
  } as unknown as JobState;
}

describe('jobComplaints', () => {
  it('accepts a window that is what was asked for, or that ends later when its end was left to the pin', () => {
    expect(jobComplaints(asked, state({}))).toEqual([]);
    expect(jobComplaints(asked, state({ windows: [[0, 9n, 25n]] }))).toEqual([]);
    expect(jobComplaints({ ...asked, isExact: true }, state({}))).toEqual([]);
  });

  it.each([
    ['never answered', undefined],
    ['is UNRECOVERABLE', state({ state: 'UNRECOVERABLE' })],
    ['covers 11 to 19', state({ windows: [[0, 10n, 19n]] })],
    ['covers 10 to 18', state({ windows: [[0, 9n, 18n]] })],
    ['covers nothing', state({ windows: [] })],
    [
      'not asked for: 2',
      state({
        windows: [
          [0, 9n, 19n],
          [2, -1n, 3n],
        ],
      }),
    ],
  ])('complains that it %s', (sentence, job) => {
    expect(jobComplaints(asked, job)).toEqual([expect.stringContaining(sentence)]);
  });

  it('does not take a later end for an exact one', () => {
    const job = state({ windows: [[0, 9n, 25n]] });
    expect(jobComplaints({ ...asked, isExact: true }, job)).toEqual([expect.stringContaining('covers 10 to 25')]);
  });
});

describe('numberComplaints', () => {
  const found = { effects: 8, deadLetters: 2, repeated: 5 };

  it('accepts what adds up', () => {
    expect(numberComplaints(state({}), found, false)).toEqual([]);
  });

  it('complains of every number that is not what was found', () => {
    expect(numberComplaints(state({}), { effects: 9, deadLetters: 1, repeated: 6 }, false)).toEqual([
      'chaos-1 says 8 handled records, 9 were found',
      'chaos-1 says 2 dead letters, 1 were found',
      'chaos-1 repeated 6 records and says at most 5',
    ]);
  });

  it('does not hold a lost store against the upper bound of repetitions', () => {
    expect(numberComplaints(state({}), { ...found, repeated: 6 }, true)).toEqual([]);
  });
});
