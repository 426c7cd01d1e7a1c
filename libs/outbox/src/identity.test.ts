import { describe, expect, it } from 'vitest';
import { checkIdentity, type DatabaseState, parseTimelineHistory } from './identity.ts';
import { type OutboxPosition, positionAfter, startPosition } from './position.ts';
import { parseSnapshot } from './snapshot.ts';

const IDENTITY = { systemIdentifier: '7713634774331641275', timeline: 3 };

const position: OutboxPosition = {
  snapshot: parseSnapshot('100:110:100,105'),
  window: undefined,
  walInsertLsn: '1/0',
  identity: IDENTITY,
};

const now: DatabaseState = {
  identity: IDENTITY,
  snapshot: parseSnapshot('105:200:105'),
  walInsertLsn: '1/FF',
  hasRowsFromTheFuture: false,
  forks: [],
};

describe('the identity of the database behind a position', () => {
  it('is the same when nothing went back', () => {
    expect(checkIdentity(position, now)).toEqual({ kind: 'same' });
    expect(checkIdentity(startPosition(IDENTITY), now)).toEqual({ kind: 'same' });
  });

  it.each<[string, Partial<DatabaseState>, RegExp]>([
    [
      'another cluster',
      { identity: { ...IDENTITY, systemIdentifier: '1' } },
      /belongs to database cluster 7713634774331641275, this is 1/,
    ],
    ['fewer transactions', { snapshot: parseSnapshot('105:109:') }, /up to 110, the database only up to 109/],
    ['a WAL that is shorter', { walInsertLsn: '0/FFFFFFFF' }, /WAL up to 1\/0, the database is at 0\/FFFFFFFF/],
    ['rows of transactions to come', { hasRowsFromTheFuture: true }, /not begun yet/],
    [
      'a timeline without readable history',
      { identity: { ...IDENTITY, timeline: 4 }, forks: undefined },
      /pg_read_server_files/,
    ],
    [
      'a timeline that does not descend',
      { identity: { ...IDENTITY, timeline: 4 }, forks: [{ timeline: 2, endLsn: '2/0' }] },
      /does not descend/,
    ],
    [
      'a fork below the position',
      { identity: { ...IDENTITY, timeline: 4 }, forks: [{ timeline: 3, endLsn: '0/FFFFFFFF' }] },
      /was lost/,
    ],
  ])('is foreign: %s', (_, change, reason) => {
    const verdict = checkIdentity(position, { ...now, ...change });
    expect(verdict).toMatchObject({ kind: 'foreign', reason: expect.stringMatching(reason) });
  });

  it('judges by the newest snapshot, also inside a window', () => {
    const inside = positionAfter(
      position,
      { snapshot: parseSnapshot('150:250:'), walInsertLsn: '1/1', identity: IDENTITY },
      { place: 7n, isLast: false },
    );
    expect(inside.window).toEqual({ upTo: parseSnapshot('150:250:'), place: 7n });
    expect(checkIdentity(inside, now)).toMatchObject({ kind: 'foreign' });
  });

  it('goes on after a promotion that kept everything the position depends on', () => {
    const promoted = {
      ...now,
      identity: { ...IDENTITY, timeline: 5 },
      forks: parseTimelineHistory('3\t1/0\tno recovery target\n4\t2/0\tx\n'),
    };
    expect(checkIdentity(position, promoted)).toEqual({ kind: 'promoted', from: 3, to: 5 });
  });
});
