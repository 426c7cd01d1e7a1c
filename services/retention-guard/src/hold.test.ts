import type { FloorLook } from '@tidemark/cursors';
import { samplePin, sampleSeries, sampleState } from '@tidemark/jobs/testing';
import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { overdueAt, parseHolds } from './hold.ts';

const DAY = 86_400_000;

it('reads after what time an alarm is raised, and after what time a floor is released', () => {
  expect(parseHolds('orders=3d, chat=12h/7d')).toEqual({
    kind: 'parsed',
    holds: new Map([
      ['orders', { alarmMs: 3 * DAY, releaseMs: undefined }],
      ['chat', { alarmMs: DAY / 2, releaseMs: 7 * DAY }],
    ]),
  });
  expect(parseHolds('')).toEqual({ kind: 'parsed', holds: new Map() });
});

it.each([
  ['orders', '"orders" is not topic=time; say after what time as 3d'],
  ['orders=3', '"orders=3" is not topic=time'],
  ['orders=3d/', '"orders=3d/" is not topic=time'],
  ['orders=3d/7', '"orders=3d/7" is not topic=time'],
  ['orders=1d/2d/3d', 'is not topic=time'],
  ['orders=10GiB', 'is not topic=time'],
  ['orders=99999w', 'is not topic=time'],
  ['orders=7d/3d', 'topic orders would be released before its alarm'],
  ['orders=1d,orders=2d', 'topic orders is named twice'],
])('refuses %j in words', (text, fault) => {
  expect(parseHolds(text)).toMatchObject({ kind: 'faults', faults: [expect.stringContaining(fault)] });
});

it('is overdue who was pinned long ago, has not ended, and holds what the policy would remove', () => {
  const job = (jobId: string, pinnedAtMs: number, state = 'RUNNING') =>
    sampleState({ jobId, state, pin: { ...samplePin([[-1n, 99n]]), pinnedAtMs: BigInt(pinnedAtMs) } });
  const jobs = [
    job('old', 0),
    job('young', 2 * DAY),
    job('ended', 0, 'CANCELLED'),
    job('ahead', 0),
    job('reserved', 0),
  ];
  const at = (holder: string, offset: bigint, reservedUntilMs?: number) => ({
    holder,
    offset: toOffset(offset),
    reservedUntilMs,
  });
  const floors = [
    at('old', 5n),
    at('young', 5n),
    at('ended', 5n),
    at('ahead', 50n),
    at('reserved', 5n, 1),
    at('series', 5n),
  ];
  const look: FloorLook = { life: 'now', mark: toOffset(0n), floors };
  const states = new Map(jobs.map((each) => [each.jobId, each]));
  const facts = { look, states, target: toOffset(50n), nowMs: 3 * DAY };
  expect(overdueAt({ ...facts, afterMs: 2 * DAY })).toEqual([{ holder: 'old', floor: 5n, sinceMs: 0n }]);
  expect(overdueAt({ ...facts, afterMs: 3 * DAY })).toEqual([]);
  expect(overdueAt({ ...facts, afterMs: undefined })).toEqual([]);
  expect(overdueAt({ ...facts, look: undefined, afterMs: DAY })).toEqual([]);
});

it('a hold for an audit is overdue as its job is, also when that has ended, and not when it was released', () => {
  const job = (jobId: string, state: string, heldForAuditUntilMs: bigint) =>
    sampleState({ jobId, state, heldForAuditUntilMs, pin: { ...samplePin([[-1n, 99n]]), pinnedAtMs: 0n } });
  const jobs = [job('runs', 'RUNNING', -1n), job('ended', 'COMPLETED', 9n), job('released', 'COMPLETED', 0n)];
  const floors = jobs.map(({ jobId }) => ({
    holder: `audit:${jobId}`,
    offset: toOffset(5n),
    reservedUntilMs: undefined,
  }));
  const look: FloorLook = { life: 'now', mark: toOffset(0n), floors };
  const states = new Map(jobs.map((each) => [each.jobId, each]));
  const overdue = overdueAt({ look, states, target: toOffset(50n), afterMs: DAY, nowMs: 3 * DAY });
  expect(overdue.map(({ holder }) => holder)).toEqual(['audit:runs', 'audit:ended']);
});

it('a series that was stopped and left so is overdue, one that goes on is meant to hold, and neither is released', () => {
  const floors = ['series:forgotten', 'series:active'].map((holder) => ({
    holder,
    offset: toOffset(5n),
    reservedUntilMs: undefined,
  }));
  const series = new Map(
    ['STOPPED', 'ACTIVE'].map((status) => {
      const name = status === 'STOPPED' ? 'forgotten' : 'active';
      return [name, sampleSeries({ series: name, status, updatedAtMs: 1_000n })];
    }),
  );
  const look: FloorLook = { life: 'now', mark: toOffset(0n), floors };
  const facts = { look, states: new Map(), target: toOffset(50n), afterMs: DAY, nowMs: 3 * DAY };
  expect(overdueAt({ ...facts, series })).toEqual([{ holder: 'series:forgotten', floor: 5n, sinceMs: 1_000n }]);
  expect(overdueAt(facts)).toEqual([]);
});
