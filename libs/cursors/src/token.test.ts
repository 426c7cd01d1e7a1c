import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { NO_TOKEN, youngerToken } from './token.ts';

it('grows with every grant and over every epoch, as text', () => {
  const tokens = [NO_TOKEN];
  for (const epoch of [0n, 0n, 9n, 10n, 10n, 2n ** 53n + 1n, 2n ** 63n - 1n])
    tokens.push(youngerToken(toOffset(epoch), tokens.at(-1) ?? NO_TOKEN));
  expect([...tokens].sort()).toEqual(tokens);
  expect(new Set(tokens).size).toBe(tokens.length);
});

it('counts grants without losing digits', () => {
  const many = `${'0'.repeat(19)}7:${'0'.repeat(4)}9007199254740993`;
  expect(youngerToken(toOffset(7n), many)).toBe(`${'0'.repeat(19)}7:${'0'.repeat(4)}9007199254740994`);
});
