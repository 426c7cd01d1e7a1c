import { NO_COUNTS, toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { plannedRanges } from './installation.ts';
import type { JobInstall } from './ports.ts';
import { type SampleRange, sampleRange } from './testing/sample-jobs.ts';

function job(ranges: readonly SampleRange[], ends: readonly bigint[] = [99n]): JobInstall {
  return {
    jobId: 'job',
    definition: '',
    epoch: toOffset(1n),
    incarnation: '',
    ends: ends.map((end, partition) => ({ partition, end: toOffset(end) })),
    ranges: ranges.map(sampleRange),
  };
}

function miscounted(install: JobInstall): JobInstall {
  return { ...install, ranges: install.ranges.map((range) => ({ ...range, counters: NO_COUNTS })) };
}

it('ends a range where the next one of its partition starts, the last one at the pinned end', () => {
  const ranges = [{ start: 49n }, { partition: 1, start: -1n }, { start: -1n }];
  expect(plannedRanges(job(ranges, [99n, 9n])).map(({ partition, start, end }) => [partition, start, end])).toEqual([
    [0, -1n, 49n],
    [0, 49n, 99n],
    [1, -1n, 9n],
  ]);
});

it('leaves the cursor of an empty window that starts beyond its end', () => {
  expect(plannedRanges(job([{ start: 120n }]))).toMatchObject([{ cursor: 120n, horizon: 120n, status: 'done' }]);
});

it('keeps a stopped range stopped', () => {
  expect(plannedRanges(job([{ start: -1n, cursor: 99n, status: 'stopped' }]))).toMatchObject([{ status: 'stopped' }]);
});

it('keeps a range open at its end while records of it are parked, in offset order', () => {
  const ranges = plannedRanges(job([{ start: -1n, cursor: 99n, parked: [7n, 3n] }]));
  expect(ranges).toMatchObject([{ status: 'open', parked: [{ offset: 3n }, { offset: 7n }] }]);
});

it.each([
  ['no pinned end', job([{ start: -1n }], [])],
  ['there twice', job([{ start: -1n }, { start: -1n }])],
  ['outside', job([{ start: 9n, cursor: 3n }])],
  ['outside', job([{ start: -1n, cursor: 60n }, { start: 49n }])],
  ['below its cursor', job([{ start: -1n, cursor: 9n, horizon: 3n }])],
  ['parked outside', job([{ start: -1n, cursor: 9n, parked: [10n] }])],
  ['parked outside', job([{ start: 3n, cursor: 9n, parked: [3n] }])],
  ['parked twice', job([{ start: -1n, cursor: 9n, parked: [3n, 3n] }])],
  ['done with 1 parked', job([{ start: -1n, cursor: 99n, status: 'done', parked: [3n] }])],
  ['counters say 0', miscounted(job([{ start: -1n, cursor: 9n, parked: [3n] }]))],
  ['epoch', { ...job([{ start: -1n }]), epoch: toOffset(-1n) }],
])('refuses an install with a fault: %s', (words, install) => {
  expect(() => plannedRanges(install)).toThrow(expect.objectContaining({ code: 'BAD_INSTALL', class: 'bug' }));
  expect(() => plannedRanges(install)).toThrow(words);
});
