import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { type GroupFloor, groupFault, lowestGroup, parseGroups } from './groups.ts';

const at = (group: string, offset: bigint): GroupFloor => ({ kind: 'committed', group, offset: toOffset(offset) });
const ends = { logStartOffset: toOffset(10n), highWatermark: toOffset(60n), mark: toOffset(20n) };

it('reads groups by topic', () => {
  expect(parseGroups('orders=billing+analytics, chat=push')).toEqual({
    kind: 'parsed',
    groups: new Map([
      ['orders', ['billing', 'analytics']],
      ['chat', ['push']],
    ]),
  });
  expect(parseGroups('')).toEqual({ kind: 'parsed', groups: new Map() });
});

it.each([
  ['orders', '"orders" is not topic=group'],
  ['orders=', '"orders=" is not topic=group'],
  ['orders=a+', '"orders=a+" is not topic=group'],
  ['orders=a=b', '"orders=a=b" is not topic=group'],
  ['orders=a+a', 'topic orders names a group twice'],
  ['orders=a,orders=b', 'topic orders is named twice'],
])('refuses %j in words', (text, fault) => {
  expect(parseGroups(text)).toMatchObject({ kind: 'faults', faults: [expect.stringContaining(fault)] });
});

it('the lowest group is the floor, and one that is not known holds everything', () => {
  expect(lowestGroup([], ends)).toBeUndefined();
  expect(lowestGroup([at('a', 30n), at('b', 25n)], ends)).toEqual({ holder: 'group b', offset: 25n });
  const unknown: GroupFloor = { kind: 'unknown', group: 'new', reason: 'it has committed nothing' };
  expect(lowestGroup([at('a', 30n), unknown], ends)).toEqual({ holder: 'group new', offset: 10n });
  expect(groupFault([at('a', 30n), unknown], ends)).toEqual({ kind: 'held', reason: 'it has committed nothing' });
});

it.each([
  [61n, 'beyondLog', 'group a is at 61, the log ends at 60: set its offsets'],
  [9n, 'held', 'group a is at 9, the log begins at 10'],
  [19n, 'held', 'group a is at 19, below the mark 20 that was never cut at'],
])('a group at %s stands in the way of a mark: %s', (offset, kind, reason) => {
  expect(groupFault([at('fine', 20n), at('a', offset)], ends)).toMatchObject({
    kind,
    reason: expect.stringContaining(reason),
  });
});

it('a group from the mark to the end of the log is no fault', () => {
  expect(groupFault([at('a', 20n), at('b', 60n)], ends)).toBeUndefined();
});
