/** The auditor on planted histories. */
import type { RangeCheckpoint } from '@tidemark/contracts';
import { samplePin, sampleRequest, sampleSeries, sampleState } from '@tidemark/jobs/testing';
import { NO_COUNTS } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { breachesOf, endFault, isAtFloor, quietLowWatermark, seriesFaults, undelivered } from './audit.ts';
import { type Durable, needsAt } from './needs.ts';

const PLACE = { topic: 'orders', partition: 0 };

function checkpoint(fields: Partial<RangeCheckpoint>): RangeCheckpoint {
  return {
    ...{
      formatVersion: 1,
      jobId: 'job-1',
      partition: 0,
      start: -1n,
      cursor: 39n,
      horizon: 49n,
      status: 'open',
      note: '',
    },
    ...{ counters: NO_COUNTS, lost: [], passed: [], parked: [], token: '', version: 1n, atMs: 0n },
    ...fields,
  };
}

const parked = (offset: bigint) => ({ offset, attempt: 1, dueAtMs: 0n, faultClass: 'x', keyHash: '' });

function durable(parts: {
  readonly job?: Parameters<typeof sampleState>[0];
  readonly series?: Parameters<typeof sampleSeries>[0];
  readonly ranges?: readonly Partial<RangeCheckpoint>[];
}): Durable {
  const job = parts.job === undefined ? undefined : sampleState(parts.job);
  const series = parts.series === undefined ? undefined : sampleSeries(parts.series);
  return {
    states: new Map(job === undefined ? [] : [[job.jobId, job]]),
    series: new Map(series === undefined ? [] : [[series.series, series]]),
    checkpoints: new Map([['job-1', (parts.ranges ?? []).map(checkpoint)]]),
  };
}

const run = { request: sampleRequest({ series: 'nightly' }) };

describe('a low watermark above what is needed is found', () => {
  it.each<[string, Durable, bigint]>([
    ['of a running job: behind its cursor', durable({ job: {}, ranges: [{}] }), 40n],
    ['of a job without a checkpoint: its start', durable({ job: { pin: samplePin([[9n, 99n]]) } }), 10n],
    [
      'of a parked record behind the cursor',
      durable({ job: {}, ranges: [{ parked: [parked(31n), parked(17n)] }] }),
      17n,
    ],
    [
      'of the part that was cut off, when the first part is done',
      durable({ job: {}, ranges: [{ status: 'done' }, { start: 59n, cursor: 69n }] }),
      70n,
    ],
    ['of a paused job', durable({ job: { state: 'PAUSED' }, ranges: [{}] }), 40n],
    ['of a series between two runs', durable({ series: {} }), 100n],
    ['of a stopped series', durable({ series: { status: 'STOPPED' } }), 100n],
    ['of a series in a partition that no run has seen', durable({ series: { partitions: [] } }), 0n],
    [
      'of a run that is not accepted yet',
      durable({ job: { ...run, state: 'PINNING', pin: samplePin([[9n, 99n]]) }, series: {} }),
      10n,
    ],
  ])('%s', (_, history, floor) => {
    const needs = needsAt(history, PLACE);
    expect(breachesOf({ ...PLACE, lowWatermark: floor, needs })).toEqual([]);
    expect(isAtFloor({ ...PLACE, lowWatermark: floor, needs })).toBe(floor > 0n);
    expect(breachesOf({ ...PLACE, lowWatermark: floor + 1n, needs })).toHaveLength(1);
    expect(isAtFloor({ ...PLACE, lowWatermark: floor + 1n, needs })).toBe(false);
  });

  it('and said with the holder', () => {
    expect(
      breachesOf({ ...PLACE, lowWatermark: 41n, needs: needsAt(durable({ job: {}, ranges: [{}] }), PLACE) }),
    ).toEqual(['orders/0 begins at 41, and job-1 still needs it from 40 on']);
  });

  it.each<[string, Durable]>([
    ['a job that has ended', durable({ job: { state: 'COMPLETED' }, ranges: [{}] })],
    ['a job that is not accepted yet', durable({ job: { state: 'PINNING' } })],
    ['a job whose window is empty here', durable({ job: { pin: samplePin([[99n, 99n]]) } })],
    ['a job that is done here', durable({ job: {}, ranges: [{ status: 'done' }] })],
    ['a job on another topic', durable({ job: { request: sampleRequest({ topic: 'chat' }) }, ranges: [{}] })],
    ['a deleted series', durable({ series: { status: 'DELETED' } })],
  ])('nothing is needed by %s', (_, history) => {
    expect(needsAt(history, PLACE)).toEqual([]);
  });
});

describe('seriesFaults', () => {
  const runOf = (jobId: string, windows: Parameters<typeof samplePin>[0]) =>
    [jobId, sampleState({ jobId, pin: samplePin(windows) })] as const;
  const series = sampleSeries({
    runs: 2n,
    partitions: [
      { partition: 0, end: 29n },
      { partition: 1, end: 4n },
    ],
  });
  const first = runOf('nightly-1', [[-1n, 9n]]);

  it('accepts runs that join, and a partition that came later', () => {
    expect(
      seriesFaults(
        series,
        new Map([
          first,
          runOf('nightly-2', [
            [9n, 29n],
            [-1n, 4n],
          ]),
        ]),
      ),
    ).toEqual([]);
  });

  it.each<[string, readonly (readonly [string, ReturnType<typeof sampleState>])[], RegExp]>([
    [
      'a gap',
      [
        first,
        runOf('nightly-2', [
          [11n, 29n],
          [-1n, 4n],
        ]),
      ],
      /offsets 10 to 11 of partition 0 are in no run/,
    ],
    [
      'an overlap',
      [
        first,
        runOf('nightly-2', [
          [7n, 29n],
          [-1n, 4n],
        ]),
      ],
      /offsets 8 to 9 of partition 0 are in nightly-2 once more/,
    ],
    [
      'a missing beginning',
      [
        first,
        runOf('nightly-2', [
          [9n, 29n],
          [2n, 4n],
        ]),
      ],
      /offsets 0 to 2 of partition 1 are in no run/,
    ],
    [
      'a run that is missing',
      [
        runOf('nightly-2', [
          [-1n, 29n],
          [-1n, 4n],
        ]),
      ],
      /nightly-1 has no window/,
    ],
    [
      'an end that no run has',
      [
        first,
        runOf('nightly-2', [
          [9n, 28n],
          [-1n, 4n],
        ]),
      ],
      /covered up to 29, its runs go up to 28/,
    ],
  ])('finds %s', (_, runs, sentence) => {
    const faults = seriesFaults(series, new Map(runs));
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(sentence);
  });
});

it('when all is quiet the log begins at the lowest need, or is empty', () => {
  expect(quietLowWatermark([], 50n)).toBe(50n);
  expect(
    quietLowWatermark(
      [
        { holder: 'a', offset: 40n },
        { holder: 'b', offset: 30n },
      ],
      50n,
    ),
  ).toBe(30n);
});

it('undelivered: the exact intervals below a deletion', () => {
  const delivered = new Set([10n, 11n, 14n, 17n]);
  expect(undelivered({ partition: 1, first: 10n, before: 17n, delivered })).toEqual([
    { partition: 1, first: 12n, last: 13n },
    { partition: 1, first: 15n, last: 16n },
  ]);
  expect(undelivered({ partition: 1, first: 10n, before: 12n, delivered })).toEqual([]);
});

it.each<[Parameters<typeof sampleState>[0], boolean]>([
  [{ state: 'COMPLETED' }, true],
  [{ state: 'REFUSED', reason: 'RETENTION_WAS_FASTER: partition 0 …' }, true],
  [{ state: 'REFUSED', reason: 'UNKNOWN_PARTITION: …' }, false],
  [{ state: 'UNRECOVERABLE', reason: 'lost' }, false],
  [{ state: 'RUNNING' }, false],
])('an end of %j is fine: %s', (fields, isFine) => {
  expect(endFault(sampleState(fields)) === undefined).toBe(isFine);
});
