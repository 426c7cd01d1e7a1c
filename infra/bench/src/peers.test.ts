import { expect, it } from 'vitest';
import { durableRate } from './peers.ts';

it('counts what a peer takes to make its last position durable', () => {
  expect(durableRate({ records: 100, seconds: 2 })).toBe(50);
  expect(durableRate({ records: 100, seconds: 2, close_s: 2 })).toBe(25);
});
