import type { FloorLook } from '@tidemark/cursors';
import { samplePin, sampleRequest, sampleSeries, sampleState } from '@tidemark/jobs/testing';
import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { isCoveredBy, judge, type PartitionFacts, requiredAt, staleHolders } from './judgement.ts';

const offsets = (start: bigint, stable: bigint, end = stable) => ({
  partition: 0,
  logStartOffset: toOffset(start),
  lastStableOffset: toOffset(stable),
  highWatermark: toOffset(end),
});
const look = (floors: Record<string, bigint>, mark = 0n): FloorLook => ({
  life: 'now',
  mark: toOffset(mark),
  floors: Object.entries(floors).map(([holder, offset]) => ({
    holder,
    offset: toOffset(offset),
    reservedUntilMs: undefined,
  })),
});
const facts = (some: Partial<PartitionFacts>): PartitionFacts => ({
  offsets: offsets(0n, 60n),
  policyTarget: toOffset(60n),
  look: look({}),
  groups: [],
  required: [],
  isCovered: true,
  wentBackMark: undefined,
  storeFault: undefined,
  ...some,
});

it('proposes what the policy wants, up to the last stable offset', () => {
  expect(judge(facts({ policyTarget: toOffset(50n) }))).toEqual({ kind: 'propose', life: 'now', target: 50n });
  expect(judge(facts({ offsets: offsets(0n, 40n, 60n) }))).toMatchObject({ kind: 'propose', target: 40n });
});

it.each([
  ['the policy passes nothing', { policyTarget: toOffset(0n) }, 'idle', ''],
  ['a floor is at the log start', { look: look({ a: 0n }), required: ['a'] }, 'held', ''],
  ['another store is filled', { storeFault: 'the store is x' }, 'incomplete', 'the store is x'],
  ['the floors are not filled', { look: undefined }, 'incomplete', 'not filled'],
  ['and a job needs them', { look: undefined, required: ['a', 'b'] }, 'incomplete', 'job a (and 1 more)'],
  ['no job was ever there', { look: undefined, isCovered: false }, 'unread', 'no job has covered'],
  ['a series needs them', { look: undefined, required: ['series:a'] }, 'incomplete', 'but series:a needs some'],
  ['a floor is missing', { look: look({ a: 5n }), required: ['a', 'b'] }, 'incomplete', 'job b is missing'],
  ['B7: a floor is beyond the log', { look: look({ a: 501n }) }, 'beyond_log', 'a needs 501, the log ends at 60'],
  ['the mark is beyond the log', { look: look({}, 61n) }, 'beyond_log', 'the mark is 61'],
  ['a floor is below the mark', { look: look({ a: 5n }, 20n) }, 'held', 'never cut at'],
] satisfies [string, Partial<PartitionFacts>, string, string][])(
  'leaves it alone when %s',
  (_, some, outcome, reason) => {
    expect(judge(facts(some))).toMatchObject({ kind: 'leave', outcome, reason: expect.stringContaining(reason) });
  },
);

it('the lowest committed offset of a group is a bound of the target', () => {
  const groups = [{ kind: 'committed', group: 'billing', offset: toOffset(30n) }] as const;
  expect(judge(facts({ groups }))).toEqual({ kind: 'propose', life: 'now', target: 30n });
  expect(judge(facts({ groups, policyTarget: toOffset(20n) }))).toMatchObject({ target: 20n });
  expect(judge(facts({ groups, offsets: offsets(30n, 60n) }))).toMatchObject({ outcome: 'held' });
});

it('leaves reservations to the clock of the store, unless their job is durable', () => {
  const reserved = (offset: bigint): FloorLook => ({
    ...look({}),
    floors: [{ holder: 'a', offset: toOffset(offset), reservedUntilMs: 1 }],
  });
  expect(judge(facts({ look: reserved(0n) }))).toEqual({ kind: 'propose', life: 'now', target: 60n });
  expect(judge(facts({ look: reserved(61n) }))).toMatchObject({ kind: 'propose' });
  expect(judge(facts({ look: reserved(0n), required: ['a'] }))).toMatchObject({ outcome: 'held' });
});

it('finishes a cut that was promised and not done, also when the policy wants less now', () => {
  const interrupted = { look: look({ a: 30n }, 30n), policyTarget: toOffset(0n), required: ['a'] };
  expect(judge(facts(interrupted))).toMatchObject({ kind: 'propose' });
  expect(judge(facts({ ...interrupted, offsets: offsets(30n, 60n) }))).toMatchObject({ outcome: 'idle' });
});

const place = { topic: 'orders', topicId: 'topic-id-1', partition: 1 };
const job = (jobId: string, state: string, end: bigint) =>
  sampleState({
    jobId,
    state,
    request: sampleRequest({ jobId, topic: 'orders' }),
    pin: samplePin([
      [-1n, 9n],
      [4n, end],
    ]),
  });

it('insists on every job that has not ended and covers the partition of this incarnation', () => {
  const states = [
    job('running', 'RUNNING', 9n),
    job('suspended', 'SUSPENDED', 9n),
    job('pinning', 'PINNING', 9n),
    job('of-tomorrow', 'REWINDING', 9n),
    job('done', 'COMPLETED', 9n),
    job('empty', 'RUNNING', 4n),
    sampleState({ jobId: 'unpinned', state: 'REQUESTED', pin: null }),
  ];
  expect(requiredAt(states, place)).toEqual(['running', 'suspended', 'pinning', 'of-tomorrow']);
  expect(requiredAt(states, { ...place, topicId: 'recreated' })).toEqual([]);
  expect(isCoveredBy(states, place)).toBe(true);
  expect(isCoveredBy(states, { ...place, partition: 2 })).toBe(false);
  expect(isCoveredBy([job('empty', 'COMPLETED', 4n)], place)).toBe(false);
});

it('insists on what is held for an audit, from the acceptance of its job until it is released', () => {
  const held = (jobId: string, state: string, end = 9n, heldForAuditUntilMs = 5n) => ({
    ...job(jobId, state, end),
    heldForAuditUntilMs,
  });
  const states = [
    held('running', 'RUNNING', 9n, -1n),
    held('pinning', 'PINNING', 9n, -1n),
    held('done', 'COMPLETED'),
    held('cancelled', 'CANCELLED'),
    held('released', 'COMPLETED', 9n, 0n),
    held('empty', 'COMPLETED', 4n),
  ];
  expect(requiredAt(states, place)).toEqual(['running', 'audit:running', 'pinning', 'audit:done', 'audit:cancelled']);
  expect(requiredAt(states, { ...place, topicId: 'recreated' })).toEqual([]);
  const seen = look({ 'audit:done': 5n, 'audit:released': 5n, 'audit:unknown': 5n, done: 5n });
  const known = { states: new Map(states.map((each) => [each.jobId, each])), series: new Map() };
  expect(staleHolders(seen, known, 1_700_000_000_000 + 60_000)).toEqual([]);
  expect(staleHolders(seen, known, 1_700_000_000_000 + 700_000)).toEqual(['audit:released', 'done']);
});

it('a series needs a floor in every partition of its topic, seen or not, until it is deleted', () => {
  const at = (partition: number, topicId = 'topic-id-1') => ({ topic: 'orders', topicId, partition });
  const series = ['ACTIVE', 'STOPPED', 'DELETED', 'REFUSED', 'OF_TOMORROW'].map((status) =>
    sampleSeries({ series: status.toLowerCase(), status, partitions: [{ partition: 0, end: 9n }] }),
  );
  for (const partition of [0, 7])
    expect(requiredAt([], at(partition), series)).toEqual(['series:active', 'series:stopped', 'series:of_tomorrow']);
  expect(requiredAt([], at(0, 'recreated'), series)).toEqual([]);
  expect(isCoveredBy([], at(7), series)).toBe(true);
  const deleted = series.filter(({ status }) => status === 'DELETED');
  expect([isCoveredBy([], at(0), deleted), isCoveredBy([], at(7), deleted)]).toEqual([true, false]);
  expect(isCoveredBy([], { ...at(0), topic: 'others' }, series)).toBe(false);
});

it('knows floors that a crash left behind, by jobs that ended long ago', () => {
  const states = new Map(
    [job('done', 'COMPLETED', 9n), job('running', 'RUNNING', 9n)].map((each) => [each.jobId, each]),
  );
  const series = new Map(
    ['ACTIVE', 'STOPPED', 'DELETED'].map((status) => [status, sampleSeries({ series: status.toLowerCase(), status })]),
  );
  const ofSeries = { 'series:active': 5n, 'series:stopped': 5n, 'series:deleted': 5n };
  const seen = look({ done: 5n, running: 5n, unknown: 5n, ...ofSeries });
  const endedMs = 1_700_000_000_000;
  expect(staleHolders(seen, { states, series }, endedMs + 60_000)).toEqual([]);
  expect(staleHolders(seen, { states, series }, endedMs + 700_000)).toEqual(['done', 'series:deleted']);
});
