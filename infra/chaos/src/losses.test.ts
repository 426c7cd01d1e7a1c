import { expect, it } from 'vitest';
import { lossComplaint } from './losses.ts';

const at = (partition: number, first: bigint, last: bigint) => ({ partition, first, last });

it('accepts the same offsets, in whatever order', () => {
  const expected = [at(0, 3n, 7n), at(1, 0n, 0n)];
  expect(lossComplaint('job-1', { said: expected.toReversed(), expected })).toBeUndefined();
  expect(lossComplaint('job-1', { said: [], expected: [] })).toBeUndefined();
});

it.each([
  ['a place beside the right one, of the same size', [at(0, 4n, 8n)], '0:4 to 8'],
  ['another partition', [at(1, 3n, 7n)], '1:3 to 7'],
  ['nothing', [], 'nothing'],
  ['more', [at(0, 3n, 7n), at(0, 9n, 9n)], '0:3 to 7, 0:9 to 9'],
])('complains of %s', (_, said, text) => {
  expect(lossComplaint('job-1', { said, expected: [at(0, 3n, 7n)] })).toBe(
    `job-1 says that it lost ${text}, and 0:3 to 7 was deleted before it was delivered`,
  );
});

it('complains of a loss that nobody made', () => {
  expect(lossComplaint('job-1', { said: [at(0, 1n, 1n)], expected: [] })).toBe(
    'job-1 says that it lost 0:1 to 1, and nothing was deleted before it was delivered',
  );
});
