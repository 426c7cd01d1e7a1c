import { describe, expect, it } from 'vitest';
import { TRAVERSAL_FAULTS } from './kinds.ts';
import { TAKEOVER_MAX_MS, type TraversalReport, violationsOf } from './verdict.ts';

const kinds = TRAVERSAL_FAULTS.map(({ kind }) => kind);

const good: TraversalReport = {
  faults: Object.fromEntries(kinds.map((kind) => [kind, 3])),
  records: 1_000,
  missing: 0,
  lost: 30,
  lost_injected: 30,
  duplicate_effects: 0,
  repeated: 100,
  repeat_bound: 100,
  stale_writes_attempted: 1,
  stale_writes_accepted: 0,
  takeover_max_ms: TAKEOVER_MAX_MS,
};

describe('violationsOf', () => {
  it('accepts a run at its limits', () => {
    expect(violationsOf(good, kinds)).toEqual([]);
  });

  it.each<[Partial<TraversalReport>, RegExp]>([
    [{ faults: { ...good.faults, worker_killed: 2 } }, /worker_killed happened 2 times/],
    [{ records: 0 }, /no job covered any record/],
    [{ missing: 1 }, /1 records of the windows have neither/],
    [{ lost: 29 }, /report 29 lost offsets, 30 were deleted/],
    [{ lost: 31 }, /report 31 lost offsets, 30 were deleted/],
    [{ duplicate_effects: 2 }, /2 effects are of another value/],
    [{ repeated: 101 }, /101 deliveries were repetitions, the faults explain 100/],
    [{ stale_writes_attempted: 0 }, /nothing was shown/],
    [{ stale_writes_accepted: 1 }, /1 writes with an older token/],
    [{ takeover_max_ms: TAKEOVER_MAX_MS + 1 }, /7001 ms for its next owner, 7000 are allowed/],
  ])('convicts %j', (fields, sentence) => {
    const violations = violationsOf({ ...good, ...fields }, kinds);
    expect(violations).toHaveLength(1);
    expect(violations[0]).toMatch(sentence);
  });

  it('asks only for what was to happen', () => {
    expect(
      violationsOf({ ...good, faults: { redis_emptied: 3 }, stale_writes_attempted: 0 }, ['redis_emptied']),
    ).toEqual([]);
  });
});
