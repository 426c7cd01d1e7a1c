import type { SeriesState } from '@tidemark/contracts';
import { sampleDefinition, sampleRequest, sampleSeries } from '@tidemark/jobs/testing';
import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { jobState, known, NOW_MS, present, sightOf } from '../testing/sights.ts';
import { seriesDetailView, seriesListView } from './series.ts';
import { seriesDetail } from './series-schemas.ts';

const series = (fields: Partial<SeriesState> = {}): SeriesState =>
  sampleSeries({
    series: 'nightly',
    definition: sampleDefinition({ request: sampleRequest({ jobId: 'nightly', topic: 'orders', handler: 'count' }) }),
    status: 'ACTIVE',
    reason: '',
    topicId: 'orders',
    partitions: [
      { partition: 0, end: 9n },
      { partition: 1, end: 19n },
    ],
    runs: 2n,
    liveRun: '',
    dueAtMs: BigInt(NOW_MS + 60_000),
    ...fields,
  });

const run = (
  number: number,
  windows: readonly (readonly [number, number])[],
  more: Parameters<typeof jobState>[0] = {},
) => jobState({ jobId: `nightly-${number}`, series: 'nightly', state: 'COMPLETED', reason: 'clean', windows, ...more });

/** As the store has it: floors of the holder by partition; null where the place is not filled. */
const floors = (...offsets: readonly (number | undefined | null)[]) =>
  known(
    new Map(
      offsets.map((offset, partition) => [
        `orders/${partition}`,
        offset === null
          ? undefined
          : {
              life: '1',
              mark: toOffset(0),
              floors:
                offset === undefined
                  ? []
                  : [{ holder: 'series:nightly', offset: toOffset(offset), sinceMs: 0, reservedUntilMs: undefined }],
            },
      ]),
    ),
  );

const ENDS = known(new Map([['orders', present('orders', [0, 30], [5, 20])]]));

describe('series', () => {
  it('holds what lies between its floor and the end of the log, in every partition', () => {
    const sight = sightOf({ series: [series()], ends: ENDS, more: { floors: floors(10, 20) } });
    const detail = seriesDetail.parse(seriesDetailView(sight, series()));
    expect(detail.partitions).toMatchObject([
      { partition: 0, state: 'held', next: '10', floor: '10', heldOffsets: '20' },
      { partition: 1, state: 'held', next: '20', floor: '20', heldOffsets: '0' },
    ]);
    expect(detail).toMatchObject({
      held: [{ partition: 0, offsets: '20' }],
      heldOffsets: '20',
      heldIsAtLeast: false,
      faults: [],
    });
  });

  it('a partition that no run has seen yet is held from its beginning', () => {
    const state = series({ partitions: [{ partition: 0, end: 9n }] });
    const { partitions } = seriesDetailView(
      sightOf({ series: [state], ends: ENDS, more: { floors: floors(10, 0) } }),
      state,
    );
    expect(partitions).toMatchObject([{ next: '10' }, { next: '0', state: 'held', heldOffsets: '15' }]);
  });

  it('what nobody knows is unknown, and a sum with it says at least', () => {
    const seen = (more: Parameters<typeof sightOf>[0]['more'], ends = ENDS) =>
      seriesListView(sightOf({ series: [series()], ends, more: more ?? {} })).series[0];
    expect(seen({ floors: floors(10, null) })).toMatchObject({ heldOffsets: '20', heldIsAtLeast: true });
    expect(seen({ floors: known(new Map()) })).toMatchObject({ heldOffsets: null, heldIsAtLeast: true, held: [] });
    expect(seen({ floors: floors(10, 20) }, known(new Map()))).toMatchObject({ heldOffsets: null });
    const words = (more: Parameters<typeof sightOf>[0]['more'], ends = ENDS) =>
      seriesDetailView(sightOf({ series: [series()], ends, more: more ?? {} }), series()).partitions.map(
        ({ state }) => state,
      );
    expect(words({ floors: floors(10, null) })).toEqual(['held', 'not filled']);
    expect(words({ floors: floors(10, undefined) })).toEqual(['held', 'not held']);
    expect(words({ floors: known(new Map()) })).toEqual(['unknown', 'unknown']);
  });

  it('shows its newest runs first, and what is missing between two of them', () => {
    const states = [
      run(1, [
        [-1, 4],
        [-1, 9],
      ]),
      run(2, [
        [4, 7],
        [9, 9],
      ]),
      run(3, [
        [9, 12],
        [9, 15],
      ]),
      run(10, [
        [12, 13],
        [15, 15],
      ]),
      jobState({ jobId: 'nightly-7' }),
      jobState({ jobId: 'other-2', series: 'other' }),
    ];
    const state = series({ runs: 10n });
    const { chain, chainOmitted, lastRun } = seriesDetailView(sightOf({ states, series: [state], ends: ENDS }), state);
    expect(chain.map(({ jobId, offsets, skipped }) => [jobId, offsets, skipped])).toEqual([
      ['nightly-10', '1', null],
      ['nightly-3', '9', '2'],
      ['nightly-2', '3', '0'],
      ['nightly-1', '15', null],
    ]);
    expect(chain[2]?.window).toEqual([{ partition: 0, start: '4', end: '7' }]);
    expect(chainOmitted).toBe('6');
    expect(lastRun?.jobId).toBe('nightly-10');
  });

  it.each([
    [
      { status: 'STOPPED', reason: 'RUN_DID_NOT_COMPLETE: run nightly-2 ended as CANCELLED' },
      ['resume', 'delete'],
      /stopped: RUN_DID_NOT.*resume goes on/,
    ],
    [
      { status: 'STOPPED', reason: 'TOPIC_RECREATED: another topic' },
      ['delete'],
      /no resume heals it: TOPIC_RECREATED/,
    ],
    [
      { status: 'STOPPED', reason: 'killed: a flood', liveRun: 'nightly-2' },
      ['resume', 'delete'],
      /^It is stopped: killed: a flood\. A resume lets it go on, when nightly-2, .* has ended\.$/,
    ],
    [{ status: 'STOPPED', reason: 'killed: a flood' }, ['resume', 'delete'], /A resume lets it go on\.$/],
    [{ dueAtMs: BigInt(NOW_MS - 20_000) }, ['run', 'delete'], /due since 20 s.*tidemark distributor/],
    [{ topicId: 'former' }, ['run', 'delete'], /created again/],
    [{ partitions: [{ partition: 1, end: 2n }] }, ['run', 'delete'], /offsets 3 to 4 of partition 1/],
  ] as const)('%o: says what is wrong, and offers what can be ordered', (fields, orders, fault) => {
    const state = series(fields as Partial<SeriesState>);
    const view = seriesDetailView(sightOf({ series: [state], ends: ENDS, more: { floors: floors(0, 3) } }), state);
    expect(view.orders).toEqual(orders);
    expect(view.faults.join('\n')).toMatch(fault);
  });

  it('one that was deleted is in no list, holds nothing, and can be ordered nothing', () => {
    const state = series({ status: 'DELETED', reason: 'moved' });
    const sight = sightOf({ series: [state], ends: ENDS });
    expect(seriesListView(sight).series).toEqual([]);
    expect(seriesDetailView(sight, state)).toMatchObject({ orders: [], faults: [], heldOffsets: '0' });
  });

  it('a schedule without another day has no next run', () => {
    const state = series({ dueAtMs: 2n ** 62n });
    expect(seriesDetailView(sightOf({ series: [state] }), state).nextDueAt).toBeNull();
  });
});
