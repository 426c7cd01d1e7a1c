import { expect, it } from 'vitest';
import { followWaits } from './breaker-waits.ts';

const said = (...reasons: readonly (readonly [jobId: string, reason: string])[]) =>
  new Map(reasons.map(([jobId, reason]) => [jobId, { reason }]));

it('counts from the first time that a job is said to wait, and anew when it waits for something else', () => {
  const first = followWaits(new Map(), said(['a', 'breaker mail'], ['b', 'permit']), 1_000);
  expect([...first]).toEqual([['a', { dependency: 'mail', sinceMs: 1_000 }]]);
  const second = followWaits(first, said(['a', 'breaker mail'], ['b', 'breaker mail']), 2_000);
  expect([...second]).toEqual([
    ['a', { dependency: 'mail', sinceMs: 1_000 }],
    ['b', { dependency: 'mail', sinceMs: 2_000 }],
  ]);
  expect([...followWaits(second, said(['a', 'breaker billing']), 3_000)]).toEqual([
    ['a', { dependency: 'billing', sinceMs: 3_000 }],
  ]);
});

it("knows a dependency by its whole name, which is a handler's and may hold line breaks", () => {
  const waits = followWaits(new Map(), said(['a', 'breaker two\nlines']), 1_000);
  expect([...waits]).toEqual([['a', { dependency: 'two\nlines', sinceMs: 1_000 }]]);
});
