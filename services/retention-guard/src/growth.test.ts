import { expect, it } from 'vitest';
import { Growth } from './growth.ts';

const MINUTE = 60_000;

function grown(...samples: readonly (readonly [atMs: number, amount: bigint])[]): Growth {
  const growth = new Growth();
  for (const [atMs, amount] of samples) growth.note(amount, atMs);
  return growth;
}

it('tells when it will have grown by so much, as fast as it grew', () => {
  const growth = grown([0, 100n], [MINUTE, 90n], [2 * MINUTE, 300n]);
  expect(growth.reachesAtMs(100n, 2 * MINUTE)).toBe(3 * MINUTE);
  expect(growth.reachesAtMs(0n, 2 * MINUTE)).toBe(2 * MINUTE);
});

it('tells nothing of what does not grow, or was watched for a moment only, or of a time without end', () => {
  expect(grown().reachesAtMs(1n, 0)).toBeUndefined();
  expect(grown([0, 0n], [MINUTE - 1, 1_000n]).reachesAtMs(1n, MINUTE)).toBeUndefined();
  expect(grown([0, 5n], [MINUTE, 5n]).reachesAtMs(1n, MINUTE)).toBeUndefined();
  expect(grown([0, 5n], [MINUTE, 4n]).reachesAtMs(1n, MINUTE)).toBeUndefined();
  expect(grown([0, 0n], [MINUTE, 1n]).reachesAtMs(2n ** 62n, MINUTE)).toBeUndefined();
});

it('forgets what is long ago', () => {
  const growth = new Growth();
  growth.note(0n, 0);
  for (let minute = 1; minute <= 240; minute++) growth.note(1_000_000n + BigInt(minute), minute * MINUTE);
  expect(growth.reachesAtMs(10n, 240 * MINUTE)).toBe(250 * MINUTE);
});
