import type { LogWatch } from '@tidemark/contracts';
import type { FloorLook } from '@tidemark/cursors';
import { samplePin, sampleRequest, sampleState } from '@tidemark/jobs/testing';
import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { removalOf, sightOf, type WatchFacts } from './watch.ts';

const place = { topic: 'orders', topicId: 'topic-id-1', partition: 0 };
const look = (floors: Record<string, bigint>): FloorLook => ({
  life: 'now',
  mark: toOffset(0n),
  floors: Object.entries(floors).map(([holder, offset]) => ({
    holder,
    offset: toOffset(offset),
    reservedUntilMs: holder.startsWith('reserved') ? 1 : undefined,
  })),
});
const watched = (firstLogStart: bigint, more: Partial<LogWatch> = {}): LogWatch => ({
  formatVersion: 1,
  ...place,
  firstLogStart,
  removals: [],
  wentBackMark: -1n,
  releases: [],
  guard: 'a test',
  atMs: 0n,
  ...more,
});
const facts = (logStart: bigint, some: Partial<WatchFacts> = {}): WatchFacts => ({
  place,
  offsets: {
    partition: 0,
    logStartOffset: toOffset(logStart),
    lastStableOffset: toOffset(100n),
    highWatermark: toOffset(100n),
  },
  mark: toOffset(0n),
  watch: watched(0n),
  look: look({}),
  groups: [],
  states: [],
  required: [],
  toRelease: [],
  nowMs: 5_000,
  ...some,
});
const job = (jobId: string, more: Parameters<typeof sampleState>[0] = {}) =>
  sampleState({
    jobId,
    request: sampleRequest({ jobId, topic: 'orders' }),
    pin: samplePin([[-1n, 39n]]),
    ...more,
  });

describe('records that went without us', () => {
  it('are exactly those between what is known to have gone and the log start', () => {
    expect(sightOf(facts(50n)).found).toEqual({ from: 0n, to: 50n, seenAtMs: 5_000n, needed: [] });
    expect(sightOf(facts(50n, { mark: toOffset(30n) })).found).toMatchObject({ from: 30n, to: 50n });
    expect(sightOf(facts(50n, { mark: toOffset(50n) })).found).toBeUndefined();
    expect(sightOf(facts(50n, { mark: toOffset(60n) })).found).toBeUndefined();
    expect(sightOf(facts(50n, { watch: watched(50n) }))).toMatchObject({ found: undefined, next: undefined });
  });

  it('are no concern when they had gone before the first look, unless a job that was accepted needs them', () => {
    const first = { watch: undefined };
    expect(sightOf(facts(50n, first))).toMatchObject({ found: undefined, isFirst: true, next: { firstLogStart: 50n } });
    const behind = look({ b: 30n, a: 20n, reserved: 10n });
    expect(sightOf(facts(50n, { ...first, look: behind })).found).toMatchObject({
      from: 20n,
      to: 50n,
      needed: [
        { holder: 'b', from: 30n, to: 50n },
        { holder: 'a', from: 20n, to: 50n },
      ],
    });
    // Marks are from before anybody wrote down what was seen.
    expect(sightOf(facts(50n, { ...first, mark: toOffset(40n) }))).toMatchObject({
      found: { from: 40n, to: 50n },
      next: { firstLogStart: 40n },
    });
  });

  it('are named with who needed which of them: jobs from their floor to their end, and groups', () => {
    const groups = [
      { kind: 'committed', group: 'billing', offset: toOffset(45n) },
      { kind: 'committed', group: 'done', offset: toOffset(50n) },
    ] as const;
    const found = sightOf(
      facts(50n, { mark: toOffset(10n), look: look({ ends39: 20n, other: 5n }), groups, states: [job('ends39')] }),
    ).found;
    expect(found?.needed).toEqual([
      { holder: 'ends39', from: 20n, to: 40n },
      { holder: 'other', from: 10n, to: 50n },
      { holder: 'group billing', from: 45n, to: 50n },
    ]);
  });

  it('were needed by a job that found out before we did, and has ended', () => {
    const lost = [
      { partition: 0, first: 20n, last: 29n },
      { partition: 1, first: 0n, last: 9n },
    ];
    const states = [job('gone', { state: 'UNRECOVERABLE', lost }), job('done', { state: 'COMPLETED' })];
    expect(sightOf(facts(50n, { states })).found?.needed).toEqual([{ holder: 'gone', from: 20n, to: 30n }]);
    const otherTopic = states.map((state) => ({ ...state, pin: { ...samplePin([[-1n, 39n]]), topicId: 'former' } }));
    expect(sightOf(facts(50n, { states: otherTopic })).found?.needed).toEqual([]);
  });

  it('are found when the store is filled again, while it does not tell who needs what', () => {
    const incomplete = { look: undefined, required: ['a'] };
    expect(sightOf(facts(50n, incomplete))).toMatchObject({ found: undefined, next: undefined });
    expect(sightOf(facts(50n, { look: undefined })).found).toMatchObject({ to: 50n });
  });

  it('are found once, and last while their holders wait for them', () => {
    const { next, found } = sightOf(facts(50n, { look: look({ a: 20n }) }));
    const watch = watched(0n, next);
    const again = sightOf(facts(50n, { watch, look: look({ a: 20n }) }));
    expect(again).toMatchObject({ found: undefined, next: undefined, lasting: [found] });
    expect(sightOf(facts(50n, { watch, look: look({ a: 50n }) })).lasting).toEqual([]);
    expect(sightOf(facts(50n, { watch, look: look({}) })).lasting).toEqual([]);
    expect(watch.removals.map(removalOf)).toEqual([found]);
  });

  it('of long ago are forgotten, but not how far they went', () => {
    let watch = watched(0n);
    for (let start = 1n; start <= 40n; start++) watch = watched(0n, sightOf(facts(start, { watch })).next);
    expect(watch.removals.map(({ toOffset: to }) => to)).toEqual(
      Array.from({ length: 16 }, (_, at) => BigInt(25 + at)),
    );
    expect(sightOf(facts(40n, { watch })).found).toBeUndefined();
  });
});

it('B6: a mark beyond the end of the log is remembered as one that nothing is cut by', () => {
  const back = sightOf(facts(0n, { mark: toOffset(120n) }));
  expect(back).toMatchObject({ wentBackMark: 120n, next: { wentBackMark: 120n } });
  const watch = watched(0n, back.next);
  expect(sightOf(facts(0n, { mark: toOffset(100n), watch }))).toMatchObject({ wentBackMark: 120n, next: undefined });
  expect(sightOf(facts(0n, { mark: toOffset(100n) }))).toMatchObject({ wentBackMark: undefined, next: undefined });
});

it('a release is written once, stands while its job does, and is not that of a later job of the same name', () => {
  const overdue = { holder: 'slow', floor: toOffset(20n), sinceMs: 0n };
  const pinnedAt = (pinnedAtMs: bigint, state = 'RUNNING') => [
    job('slow', { state, pin: { ...samplePin([[-1n, 39n]]), pinnedAtMs } }),
  ];
  const first = sightOf(facts(0n, { toRelease: [overdue], states: pinnedAt(1_000n) }));
  const release = { holder: 'slow', fromOffset: 20n, atMs: 5_000n };
  expect(first).toMatchObject({ next: { releases: [release] }, releases: { before: [], now: [release] } });
  const watch = watched(0n, first.next);
  const again = sightOf(facts(0n, { watch, toRelease: [overdue], states: pinnedAt(1_000n) }));
  expect(again).toMatchObject({ next: undefined, releases: { before: [release], now: [] } });
  const toRelease = [{ ...overdue, holder: 'other' }];
  const withOther = (states: WatchFacts['states']) =>
    sightOf(facts(0n, { watch, toRelease, states })).next?.releases.map(({ holder }) => holder);
  expect(withOther(pinnedAt(1_000n))).toEqual(['slow', 'other']);
  expect(withOther(pinnedAt(1_000n, 'COMPLETED'))).toEqual(['other']);
  expect(withOther(pinnedAt(9_000n))).toEqual(['other']);
  expect(withOther([])).toEqual(['other']);
});
