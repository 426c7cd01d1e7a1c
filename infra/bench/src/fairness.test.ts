import { expect, it } from 'vitest';
import { reportOf } from './fairness.ts';

it('counts chunks of the large job only while a small one is open', () => {
  const chunks = ['big', 'big', 'big', 'small-0', 'big', 'small-1', 'big', 'big', 'small-0', 'big', 'big', 'big'];
  expect(reportOf(chunks)).toMatchObject({
    small_chunks: 3,
    big_chunks_meanwhile: 3,
    big_chunks_in_a_row: 2,
    big_chunks: 9,
  });
});
