import { expect, it } from 'vitest';
import { KEYS_A_TRY, RETRY_PARKED_BASE_MS, RETRY_PARKED_MS_MAX } from './limits.ts';
import { keyId, type ParkedKeys, parkedKeysOf } from './parked-keys.ts';
import { createRetryPace } from './retry-pace.ts';

function parkedOf(...keys: readonly string[]): ParkedKeys {
  return parkedKeysOf(
    keys.map((key) => ({
      topic: key.startsWith('b') ? 'bills' : 'orders',
      key,
      position: 1n,
      table: '',
      type: 'x',
      bytes: 1n,
      reason: '',
      parkedAtMs: 0n,
      triedAtMs: 0n,
    })),
  );
}

function entry(parked: ParkedKeys) {
  const [first] = parked.values();
  if (first === undefined) throw new Error('nothing is parked');
  return first;
}

it('tries again after pauses that double up to a bound, and once it is freed begins anew', () => {
  const pace = createRetryPace(() => 1 - Number.EPSILON);
  const parked = parkedOf('a');
  let nowMs = 0;
  const pauses: number[] = [];
  for (let round = 0; round < 11; round += 1) {
    pace.failed(entry(parked), nowMs);
    const from = nowMs;
    while (pace.due(parked, nowMs).length === 0) nowMs += RETRY_PARKED_BASE_MS / 2;
    pauses.push(nowMs - from);
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1_000));
  pace.freed(entry(parked));
  pace.failed(entry(parked), nowMs);
  expect(pace.due(parked, nowMs + RETRY_PARKED_BASE_MS)).toEqual([...parked.keys()]);
  expect(RETRY_PARKED_MS_MAX).toBe(300_000);
});

it('what an earlier process has parked is tried at once, but never more together than are read together', () => {
  const pace = createRetryPace(() => 0);
  const parked = parkedOf(...Array.from({ length: KEYS_A_TRY + 5 }, (_, i) => `a${i}`));
  const first = pace.due(parked, 0);
  expect(first).toHaveLength(KEYS_A_TRY);
  for (const id of first) pace.failed(parked.get(id) ?? entry(parked), 0);
  expect(pace.due(parked, 0)).toEqual([...parked.keys()].slice(KEYS_A_TRY));
});

it.each([
  [{ topic: null, key: null }, ['a1', 'a2', 'b1']],
  [{ topic: 'bills', key: null }, ['b1']],
  [{ topic: 'orders', key: 'a2' }, ['a2']],
  [{ topic: null, key: 'a1' }, ['a1']],
  [{ topic: 'orders', key: 'b1' }, []],
])('a wish for %o makes those due at once', (wish, meant) => {
  const pace = createRetryPace(() => 0);
  const parked = parkedOf('a1', 'a2', 'b1');
  for (const key of parked.values()) pace.failed(key, 0);
  expect(pace.due(parked, 1)).toEqual([]);
  pace.hasten(parked, wish);
  const expected = [...parked].filter(([, { key }]) => meant.includes(key)).map(([id]) => id);
  expect(pace.due(parked, 1)).toEqual(expected);
  expect(expected.every((id) => id === keyId(parked.get(id) ?? entry(parked)))).toBe(true);
});
