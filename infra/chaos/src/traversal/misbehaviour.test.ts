import { expect, it } from 'vitest';
import { FAILING_ATTEMPTS, HANGING_ATTEMPTS } from './limits.ts';
import { failuresOf, isDoomed, Mode } from './misbehaviour.ts';

const window = (salt: number) =>
  Array.from({ length: 60 }, (_, index) => ({ salt, partition: 1, offset: 9_007_199_254_740_993n + BigInt(index) }));

it.each([Mode.failing, Mode.hanging])('%s dooms some records of any window, and others come through', (mode) => {
  const attempts = mode === Mode.failing ? FAILING_ATTEMPTS : HANGING_ATTEMPTS;
  for (const salt of [0, 1, 17, 999]) {
    const failures = window(salt).map((place) => failuresOf(mode, place));
    expect(window(salt).some((place) => isDoomed(mode, place))).toBe(true);
    const passing = failures.filter((times) => times > 0 && Number.isFinite(times));
    expect(passing.length).toBeGreaterThan(0);
    expect(Math.max(...passing)).toBeLessThan(attempts);
  }
});

it('slow is only slow', () => {
  expect(window(3).map((place) => failuresOf(Mode.slow, place))).toEqual(window(3).map(() => 0));
});
