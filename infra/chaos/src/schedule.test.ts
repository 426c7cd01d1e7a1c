import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LEAD_MS, TIMES_EACH_MIN } from './limits.ts';
import { type FaultKind, planFaults } from './schedule.ts';
import { TRAVERSAL_FAULTS } from './traversal/kinds.ts';

const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });

describe('planFaults', () => {
  it('plans every kind at least three times within three minutes, whatever the seed', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const plan = planFaults({ kinds: TRAVERSAL_FAULTS, seed, minutes: 3 });
        for (const { kind } of TRAVERSAL_FAULTS)
          expect(plan.filter((fault) => fault.kind === kind).length).toBeGreaterThanOrEqual(TIMES_EACH_MIN);
        expect(plan.every(({ atMs }) => atMs >= LEAD_MS && atMs < 180_000)).toBe(true);
      }),
    );
  });

  it('leaves every fault its time before the next one of its track', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 3, max: 20 }), (seed, minutes) => {
        const plan = planFaults({ kinds: TRAVERSAL_FAULTS, seed, minutes });
        const seconds = new Map<string, number>(TRAVERSAL_FAULTS.map((kind) => [kind.kind, kind.seconds]));
        for (const track of new Set(plan.map((fault) => fault.track))) {
          const faults = plan.filter((fault) => fault.track === track);
          for (const [place, fault] of faults.entries()) {
            const endMs = fault.atMs + (seconds.get(fault.kind) ?? Number.NaN) * 1_000;
            // Half a millisecond of each is rounding.
            expect(endMs).toBeLessThanOrEqual((faults[place + 1]?.atMs ?? minutes * 60_000) + 1);
          }
        }
      }),
    );
  });

  it('plans the same for the same seed and something else for another', () => {
    const plan = (seed: number) => planFaults({ kinds: TRAVERSAL_FAULTS, seed, minutes: 3 });
    expect(plan(7)).toEqual(plan(7));
    expect(plan(7).map(({ kind }) => kind)).not.toEqual(plan(8).map(({ kind }) => kind));
  });

  it('has more of everything in more minutes', () => {
    const plan = planFaults({ kinds: TRAVERSAL_FAULTS, seed: 1, minutes: 10 });
    for (const { kind } of TRAVERSAL_FAULTS) expect(plan.filter((fault) => fault.kind === kind)).toHaveLength(10);
  });

  it('refuses minutes that do not hold the faults', () => {
    const kinds: FaultKind[] = [{ kind: 'flood', track: 'weather', seconds: 30 }];
    expect(() => planFaults({ kinds, seed: 1, minutes: 1 })).toThrow(/weather take 98 s/);
  });
});
