import { describe, expect, it } from 'vitest';
import { faultsOf, fitOf, movesOf, PARTITIONER, rebaseCommand } from './fit.ts';
import type { DatabaseState } from './identity.ts';
import { type OutboxPosition, startPosition } from './position.ts';
import { parseSnapshot } from './snapshot.ts';

const IDENTITY = { systemIdentifier: '7713634774331641275', timeline: 1 };
const now: DatabaseState = {
  identity: IDENTITY,
  snapshot: parseSnapshot('200:210:'),
  walInsertLsn: '2/0',
  hasRowsFromTheFuture: false,
  forks: [],
};
const at = (snapshot: string): OutboxPosition => ({
  ...startPosition(IDENTITY),
  snapshot: parseSnapshot(snapshot),
  walInsertLsn: '1/0',
});

describe('whether a position fits', () => {
  it.each([
    ['nothing published and nothing witnessed', undefined, undefined, 'first'],
    ['the position is ahead of its witness', at('105:110:'), '100:105:', 'same'],
    ['it is the witness', at('100:105:'), '100:105:', 'same'],
    ['no position, but a witness of one', undefined, '100:105:', 'lost'],
    ['a position behind its witness', at('100:105:'), '100:106:', 'lost'],
  ])('%s', (_, stored, witness, kind) => {
    const question = { stored, witness: witness === undefined ? undefined : parseSnapshot(witness), now };
    expect(fitOf(question)).toMatchObject({ kind });
  });

  it('of another database, before the witness is asked: it may be of that one', () => {
    const foreign = { ...at('100:105:'), identity: { ...IDENTITY, systemIdentifier: '42' } };
    expect(fitOf({ stored: foreign, witness: parseSnapshot('150:150:'), now })).toMatchObject({ kind: 'foreign' });
  });

  it('rows copied from elsewhere are foreign also before the first position', () => {
    const restored = { ...now, hasRowsFromTheFuture: true };
    expect(fitOf({ stored: undefined, witness: undefined, now: restored })).toMatchObject({ kind: 'foreign' });
  });
});

it('keys move where a count changed, and not where a topic is gone or new', () => {
  const found = new Map([
    ['a', 3],
    ['b', 5],
    ['new', 1],
  ]);
  expect(movesOf({ a: 3, b: 4, gone: 2 }, found)).toEqual([{ topic: 'b', from: 4, to: 5 }]);
});

it('tells every fault under the name that the relay stops with', () => {
  const fit = { kind: 'lost', reason: 'gone' } as const;
  const moves = [{ topic: 'orders', from: 3, to: 5 }];
  expect(faultsOf({ fit, moves, partitioner: 'crc32' }).map(({ code }) => code)).toEqual([
    'POSITION_LOST',
    'PARTITIONER_CHANGED',
    'PARTITIONS_CHANGED',
  ]);
  expect(faultsOf({ fit: { kind: 'same' }, moves: [], partitioner: PARTITIONER })).toEqual([]);
});

it('names the relay only where it must', () => {
  expect(rebaseCommand('main')).toBe('tidemark relay rebase');
  expect(rebaseCommand('eu')).toBe('tidemark relay rebase --name eu');
});
