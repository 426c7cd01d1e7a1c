import { expect, it } from 'vitest';
import { waitFor } from './wait-for.ts';

it('returns the first answer that is neither undefined nor false', async () => {
  const answers = [undefined, false, 0];
  expect(await waitFor('a number', () => answers.shift(), { intervalMs: 0 })).toBe(0);
});

it('says what it waited for and what it saw last', async () => {
  const failing = (): never => {
    throw new Error('not there yet');
  };
  await expect(waitFor('the light', failing, { timeoutMs: 0, intervalMs: 0 })).rejects.toThrow(
    'the light (last: not there yet)',
  );
});
