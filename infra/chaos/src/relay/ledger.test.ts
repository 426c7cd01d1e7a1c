import { expect, it } from 'vitest';
import { type Outcome, settle } from './ledger.ts';

const told: readonly (readonly [string, Outcome])[] = [
  ['a', 'committed'],
  ['b', 'committed lazily'],
  ['c', 'committed lazily'],
  ['d', 'rolled back'],
  ['e', 'unknown'],
  ['f', 'unknown'],
];

it('a commit without an answer, or without a flush, is what the database says of it', () => {
  expect(settle(new Map(told), new Set(['a', 'b', 'e']))).toEqual({
    transactions: 6,
    rolledBack: 1,
    unknownCommitted: 1,
    unknownGone: 1,
    lazilyGone: 1,
    contradictions: [],
  });
});

it.each([
  [['b', 'e'], /1 transactions were answered as committed and are not in the database/],
  [['a', 'd'], /1 transactions were rolled back and are in the database/],
  [['a', 'x'], /1 transactions are in the database that nobody made/],
])('a database that has %j contradicts what was told', (signed, sentence) => {
  const { contradictions } = settle(new Map(told), new Set(signed));
  expect(contradictions).toHaveLength(1);
  expect(contradictions[0]).toMatch(sentence);
});
