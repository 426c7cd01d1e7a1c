import { describe, expect, it } from 'vitest';
import { RELAY_FAULTS } from './kinds.ts';
import { HUGE_CHANGED, HUGE_INSERTED } from './limits.ts';
import { type RelayReport, TAKEOVER_MAX_MS, violationsOf } from './verdict.ts';

const kinds = RELAY_FAULTS.map(({ kind }) => kind);

const good: RelayReport = {
  faults: Object.fromEntries(kinds.map((kind) => [kind, 3])),
  committed: 1_000,
  in_topic: 1_000,
  missing: 0,
  duplicates: 0,
  out_of_order: 0,
  never_committed: 0,
  stale: 0,
  transactions: 100,
  rolled_back: 10,
  unknown_committed: 1,
  unknown_gone: 1,
  lazily_gone: 1,
  keys_parked: 3,
  keys_freed: 3,
  hanging_ended: 0,
  sessions_cut: 9,
  huge_seen_at_kill: [4_000, HUGE_INSERTED + HUGE_CHANGED],
  takeover_max_ms: TAKEOVER_MAX_MS,
  longest_stall_ms: 60_000,
};

describe('violationsOf', () => {
  it('accepts a run at its limits', () => {
    expect(violationsOf(good, kinds)).toEqual([]);
  });

  it.each<[Partial<RelayReport>, RegExp]>([
    [{ faults: { ...good.faults, relay_killed: 2 } }, /relay_killed happened 2 times/],
    [{ committed: 0 }, /nothing was committed/],
    [{ missing: 1 }, /1 committed rows are in no topic/],
    [{ duplicates: 1 }, /1 rows are in their topic more than once/],
    [{ out_of_order: 1 }, /1 rows came after a later one/],
    [{ never_committed: 1 }, /1 records are of rows that no transaction committed/],
    [{ stale: 1 }, /1 rows were told otherwise/],
    [{ takeover_max_ms: TAKEOVER_MAX_MS + 1 }, /48001 ms for the next relay, 48000 are allowed/],
    [{ keys_parked: 0 }, /no relay parked a key/],
    [{ sessions_cut: 0 }, /no session of a relay was ended/],
    [{ unknown_committed: 0, unknown_gone: 0 }, /every commit was answered/],
    [{ huge_seen_at_kill: [HUGE_INSERTED + HUGE_CHANGED] }, /published before its relay was killed/],
  ])('convicts %j', (fields, sentence) => {
    const violations = violationsOf({ ...good, ...fields }, kinds);
    expect(violations).toHaveLength(1);
    expect(violations[0]).toMatch(sentence);
  });

  it('asks only for what was to happen', () => {
    const calm = { keys_parked: 0, sessions_cut: 0, unknown_committed: 0, unknown_gone: 0, huge_seen_at_kill: [] };
    expect(violationsOf({ ...good, ...calm, faults: { relay_killed: 3 } }, ['relay_killed'])).toEqual([]);
  });
});
