import { type PartitionWindow, tiles, toOffset } from '@tidemark/keyspace';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deriveEnds, planRanges, tilingFaults } from './planning.ts';

const windowsArbitrary = fc
  .array(fc.tuple(fc.bigInt({ min: -1n, max: 2n ** 60n }), fc.bigInt({ min: 0n, max: 1_000n })), { maxLength: 5 })
  .map((windows) =>
    windows.map(
      ([start, size], partition): PartitionWindow => ({
        partition,
        start: toOffset(start),
        end: toOffset(start + size),
      }),
    ),
  );

const plan = (windows: readonly PartitionWindow[], ordering: string, rangesPerPartition: number) =>
  planRanges(windows, { ordering, rangesPerPartition }).map((range) => ({ ...range, cursor: range.start }));

describe('planning', () => {
  it('ranges tile every window, derived ends are the planned ones, and the tiling check agrees', () => {
    fc.assert(
      fc.property(
        windowsArbitrary,
        fc.constantFrom('none', 'key', 'partition'),
        fc.integer({ min: 1, max: 9 }),
        (windows, ordering, parts) => {
          const ranges = plan(windows, ordering, parts);
          expect(tilingFaults(windows, ranges)).toEqual([]);
          for (const window of windows.filter(({ start, end }) => end > start)) {
            const own = ranges.filter(({ partition }) => partition === window.partition);
            expect(tiles(window, own)).toBe(true);
            expect(own.length).toBeLessThanOrEqual(ordering === 'none' ? parts : 1);
          }
          const shuffled = [...ranges].reverse().map(({ end: _end, ...range }) => range);
          expect(deriveEnds(windows, shuffled)).toEqual(ranges);
        },
      ),
    );
  });

  it('automatic ranges are about equal spans over all partitions, none short, and not more than a job can use', () => {
    const sizes = fc.array(fc.oneof(fc.bigInt({ min: 0n, max: 200_000n }), fc.bigInt({ min: 0n, max: 10n ** 12n })), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(sizes, (spans) => {
        const windows = spans.map((size, partition) => ({ partition, start: toOffset(-1n), end: toOffset(size - 1n) }));
        const filled = windows.filter(({ end }) => end > -1n);
        const ranges = planRanges(windows, { ordering: 'none', rangesPerPartition: 0 });
        expect(tilingFaults(windows, plan(windows, 'none', 0))).toEqual([]);
        expect(ranges.length).toBeLessThanOrEqual(64 + filled.length);
        const total = spans.reduce((sum, size) => sum + size, 0n);
        const even = (total + 63n) / 64n;
        const span = even > 50_000n ? even : 50_000n;
        for (const range of ranges) {
          const size = range.end - range.start;
          const isWhole =
            windows[range.partition]?.start === range.start && windows[range.partition]?.end === range.end;
          expect(isWhole || size >= span).toBe(true);
          expect(size < 2n * span).toBe(true);
        }
      }),
    );
  });

  it('automatic: a large partition is cut and a small one is not', () => {
    const windows = [
      { partition: 0, start: toOffset(-1), end: toOffset(199_999) },
      { partition: 1, start: toOffset(-1), end: toOffset(59_999) },
    ];
    const partitions = planRanges(windows, { ordering: 'none', rangesPerPartition: 0 }).map(
      ({ partition }) => partition,
    );
    expect(partitions).toEqual([0, 0, 0, 0, 1]);
    expect(planRanges(windows, { ordering: 'key', rangesPerPartition: 0 })).toHaveLength(2);
  });

  it('A5: empty windows make no range', () => {
    const empty = { partition: 0, start: toOffset(9), end: toOffset(9) };
    expect(plan([empty], 'none', 4)).toEqual([]);
  });

  it('a missing range is a hole, a cursor beyond the next start an overlap', () => {
    const windows = [{ partition: 0, start: toOffset(-1), end: toOffset(99) }];
    const ranges = plan(windows, 'none', 2);
    expect(tilingFaults(windows, [])).toEqual(['partition 0: hole from 0 to 99, no range covers it']);
    expect(tilingFaults(windows, ranges.slice(1))).toEqual(['partition 0: hole from 0 to 49, no range covers it']);
    // Without the second range the first one ends at the pinned end: still a tiling, and what it settled counts.
    expect(tilingFaults(windows, ranges.slice(0, 1))).toEqual([]);
    const beyond = ranges.map((range, index) => (index === 0 ? { ...range, cursor: toOffset(60) } : range));
    expect(tilingFaults(windows, beyond)[0]).toContain('overlaps the next one');
    expect(tilingFaults(windows, [...ranges, ...ranges.slice(0, 1)])[0]).toContain('two ranges start at -1');
    expect(tilingFaults([], ranges)).toHaveLength(2);
  });

  it('finds the loss of the first range of any plan', () => {
    fc.assert(
      fc.property(windowsArbitrary, fc.integer({ min: 1, max: 9 }), (windows, parts) => {
        const ranges = plan(windows, 'none', parts);
        fc.pre(ranges.length > 0);
        const first = ranges[0];
        expect(
          tilingFaults(
            windows,
            ranges.filter((range) => range !== first),
          ),
        ).not.toEqual([]);
      }),
    );
  });
});
