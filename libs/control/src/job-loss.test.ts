import { NO_COUNTS, toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { lossOf } from './job-loss.ts';

const range = {
  ...{ partition: 0, start: toOffset(-1), end: toOffset(99), cursor: toOffset(49), status: 'open' as const, note: '' },
  counters: { ...NO_COUNTS, ok: 20n, lost: 30n },
  lost: [],
  passed: [{ first: 20n, last: 44n }],
};

it('B1: a job under way tells what its ranges have passed so far, and how much of it has no place', () => {
  expect(lossOf({ totals: null, lost: [] }, [range])).toEqual({
    places: [{ partition: 0, first: 20n, last: 44n }],
    unplaced: 5n,
  });
});

it('a job that has ended tells what its state says', () => {
  const lost = [{ partition: 0, first: 20n, last: 49n }];
  const totals = { ...NO_COUNTS, lost: 30n };
  expect(lossOf({ totals, lost }, [range])).toEqual({ places: lost, unplaced: 0n });
  expect(lossOf({ totals, lost: [] }, [])).toEqual({ places: [], unplaced: 30n });
});
