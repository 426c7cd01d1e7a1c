import { tilingFaults } from '@tidemark/jobs';
import { offsetMin, rangeIdOf, toOffset } from '@tidemark/keyspace';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planSplits, type SplitQuestion, slotsOfJob } from './split-plan.ts';

const range = (start: number, horizon: number, end: number, status: 'open' | 'done' = 'open') => ({
  partition: 0,
  start: toOffset(start),
  horizon: toOffset(horizon),
  end: toOffset(end),
  status,
});
const plan = (fields: Partial<SplitQuestion>) =>
  planSplits({ ordering: 'none', concurrency: 0, chunkRecords: 100, ranges: [], slots: 4, ...fields });
const offsets = (fields: Partial<SplitQuestion>) => plan(fields).map(({ range: { start }, at }) => [start, at]);

describe('where ranges are cut', () => {
  it('in half above the horizon, the largest rest first, until every slot has one', () => {
    const ranges = [range(-1, 19_999, 119_999), range(119_999, 119_999, 129_999)];
    expect(offsets({ ranges, slots: 4 })).toEqual([
      [-1n, 69_999n],
      [-1n, 44_999n],
    ]);
    expect(offsets({ ranges, slots: 2 })).toEqual([]);
  });

  it('not where a chunk would be cut away, however many slots are idle', () => {
    expect(offsets({ ranges: [range(-1, 999, 2_998)] })).toEqual([]);
    expect(offsets({ ranges: [range(-1, 999, 2_999)] })).toEqual([[-1n, 1_999n]]);
    expect(offsets({ ranges: [range(-1, 999, 2_999)], chunkRecords: 1_001 })).toEqual([]);
  });

  it('only what is open and unordered, and only as the cap of the job allows', () => {
    const ranges = [range(-1, -1, 99_999)];
    expect(offsets({ ranges, ordering: 'key' })).toEqual([]);
    expect(offsets({ ranges, ordering: 'partition' })).toEqual([]);
    expect(offsets({ ranges: [range(-1, -1, 99_999, 'done')] })).toEqual([]);
    expect(plan({ ranges, concurrency: 2 })).toHaveLength(1);
    expect(plan({ ranges, concurrency: 2, slots: 0 })).toEqual([]);
  });

  it('never into more ranges than a job can use', () => {
    const ranges = Array.from({ length: 999 }, (_, index) => range(index - 1, index, index, 'done'));
    expect(plan({ ranges: [...ranges, range(998, 998, 10_000_000)], slots: 64 })).toHaveLength(0);
    expect(plan({ ranges: [...ranges.slice(1), range(998, 998, 10_000_000)], slots: 64 })).toHaveLength(1);
  });

  it('so that the ranges still tile, none is cut at or below its horizon, and all have enough left', () => {
    const spans = fc.array(fc.tuple(fc.nat(20_000), fc.nat(20_000)), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(spans, fc.nat(100), fc.nat(3_000), (sizes, slots, chunkRecords) => {
        let start = -1;
        const ranges = sizes.map(([claimed, rest]) => {
          const one = range(start, start + claimed, start + claimed + rest + 1);
          start += claimed + rest + 1;
          return one;
        });
        const splits = plan({ ranges, slots, chunkRecords });
        const all = [
          ...ranges,
          ...splits.map(({ at }) => ({ partition: 0, start: at, horizon: at, end: at, status: 'open' as const })),
        ];
        const window = { partition: 0, start: toOffset(-1), end: toOffset(start) };
        expect(
          tilingFaults(
            [window],
            all.map((each) => ({ ...each, cursor: each.horizon })),
          ),
        ).toEqual([]);
        expect(new Set(all.map(rangeIdOf)).size).toBe(all.length);
        expect(splits.length).toBeLessThanOrEqual(Math.max(0, slots - ranges.length));
        const starts = all.map((each) => each.start);
        const restMin = BigInt(Math.max(1_000, chunkRecords));
        for (const { start: from, horizon } of all) {
          const wasCut = splits.some(({ range: cut, at }) => cut.start === from || at === from);
          const next = starts.filter((other) => other > from).reduce(offsetMin, window.end);
          if (wasCut) expect(next - horizon).toBeGreaterThanOrEqual(restMin);
        }
      }),
    );
  });
});

describe('the slots that a job can count on', () => {
  const worker = (slots: number, ...names: readonly string[]) => ({
    slots,
    handlers: names.map((name) => ({ name, idempotent: true })),
  });

  it('are those of the workers with its handler, shared with the other jobs of it', () => {
    const alive = [worker(4, 'count'), worker(3, 'mail', 'count'), worker(16, 'mail')];
    expect(slotsOfJob({ handler: 'count', alive, jobs: 1 })).toBe(7);
    expect(slotsOfJob({ handler: 'count', alive, jobs: 2 })).toBe(4);
    expect(slotsOfJob({ handler: 'sms', alive, jobs: 1 })).toBe(0);
  });

  it('are four of a worker that does not tell', () => {
    expect(slotsOfJob({ handler: 'count', alive: [{ handlers: worker(0, 'count').handlers }], jobs: 1 })).toBe(4);
  });
});
