import type { ParkedKey, RelayPosition } from '@tidemark/contracts';
import { expect, it } from 'vitest';
import { unsentOf } from './unsent.ts';

function parked(topic: string, key: string): ParkedKey {
  const fields = { table: 'public.orders', type: 'x', bytes: 2_000n, parkedAtMs: 1n, triedAtMs: 2n };
  return { topic, key, position: 7n, reason: 'too large', ...fields };
}

function position(...keys: readonly ParkedKey[]): RelayPosition {
  return { parked: keys } as unknown as RelayPosition;
}

it('P1: the parked keys of the topic are counted, and the first of them named', () => {
  const others = Array.from({ length: 5 }, (_, n) => parked('other', `${n}`));
  const ours = Array.from({ length: 25 }, (_, n) => parked('orders', `${n}`));
  const unsent = unsentOf(position(...others, ...ours), 'orders');
  expect(unsent.unsentKeys).toBe(25n);
  expect(unsent.unsent).toHaveLength(20);
  expect(unsent.unsent[19]).toEqual({ key: '19', position: 7n, reason: 'too large' });
});

it('long keys are cut', () => {
  const [unsent] = unsentOf(position(parked('orders', 'k'.repeat(5_000))), 'orders').unsent;
  expect(unsent?.key).toHaveLength(200);
});

it('P1: without a relay, and without parked keys of the topic, nothing is listed', () => {
  const nothing = { unsentKeys: 0n, unsent: [] };
  expect(unsentOf(undefined, 'orders')).toEqual(nothing);
  expect(unsentOf(position(parked('other', 'a')), 'orders')).toEqual(nothing);
});
