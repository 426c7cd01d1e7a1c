import { describe, expect, it } from 'vitest';
import { GUARD_FAULTS } from './kinds.ts';
import { type GuardReport, violationsOf } from './verdict.ts';

const kinds = GUARD_FAULTS.map(({ kind }) => kind);

const good: GuardReport = {
  faults: Object.fromEntries(kinds.map((kind) => [kind, 3])),
  ...{ jobs: 50, refused: 1, records: 1_000, needed_and_deleted: 0, lost: 30, lost_injected: 30, cut: 500 },
  ...{ samples: 100, above_floor: 0, at_floor: 1, series_runs: 2, series_breaks: 0 },
  ...{ quiet_partitions: 6, quiet_held: 4, quiet_off: 0, truncated: { skip: '0:5 to 9', stop: '1:5 to 9' } },
  ...{ released: '0:5 to 9', account_looks: 1, account_cuts: 1, account_off: 0 },
};

describe('violationsOf', () => {
  it('accepts a run at its limits', () => {
    expect(violationsOf(good, kinds)).toEqual([]);
  });

  it.each<[Partial<GuardReport>, RegExp]>([
    [{ faults: { ...good.faults, guard_killed: 2 } }, /guard_killed happened 2 times/],
    [{ records: 0 }, /no job covered any record/],
    [{ needed_and_deleted: 1 }, /1 records that a job needed/],
    [{ lost: 31 }, /report 31 lost offsets, 30 were deleted/],
    [{ lost: 29 }, /report 29 lost offsets, 30 were deleted/],
    [{ cut: 0 }, /cut nothing/],
    [{ samples: 0 }, /nobody looked/],
    [{ above_floor: 1 }, /1 times the log began above/],
    [{ at_floor: 0 }, /no floor ever held/],
    [{ series_runs: 1 }, /the series made 1 runs/],
    [{ series_breaks: 1 }, /1 gaps or overlaps/],
    [{ quiet_held: 0 }, /no floor held anything when all was quiet/],
    [{ quiet_off: 1 }, /1 of 6 partitions do not begin/],
    [{ released: '' }, /nothing was shown/],
    [{ account_looks: 0 }, /nobody looked at the guards' own account/],
    [{ account_cuts: 0 }, /nobody looked at the guards' own account/],
    [{ account_off: 2 }, /2 times the guards' own account/],
  ])('convicts %j', (fields, sentence) => {
    const violations = violationsOf({ ...good, ...fields }, kinds);
    expect(violations).toHaveLength(1);
    expect(violations[0]).toMatch(sentence);
  });
});
