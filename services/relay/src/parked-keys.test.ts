import type { OutboxRow } from '@tidemark/outbox';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PARKED_KEYS_MAX, PARKED_TEXT_MAX } from './limits.ts';
import {
  afterTry,
  changesOf,
  keyId,
  NOTHING_PARKED,
  type ParkedKeys,
  park,
  type RowFault,
  releasedParts,
  sizeOf,
  waits,
} from './parked-keys.ts';

function rowOf(key: string, position: bigint | number, more: Partial<OutboxRow> = {}): OutboxRow {
  return {
    position: BigInt(position),
    id: `id-${position}`,
    topic: 'orders',
    key,
    type: 'order',
    payload: '{}',
    headers: {},
    occurredAt: '2026-01-01T00:00:00.000000Z',
    ...more,
  };
}

function faultOf(row: OutboxRow, atMs = 1n): RowFault {
  return { row, reason: 'too large', atMs };
}

function parkedBy(...rows: readonly OutboxRow[]): ParkedKeys {
  return rows.reduce((parked, row) => {
    const answer = park(parked, faultOf(row));
    if (answer.kind === 'no room') throw new Error(answer.reason);
    return answer.parked;
  }, NOTHING_PARKED);
}

describe('parking', () => {
  it('tells the row, its table and its size', () => {
    const row = rowOf('ü', 7, { headers: { tm_table: 'public.orders' }, payload: '"ä"' });
    expect([...parkedBy(row).values()]).toEqual([
      {
        topic: 'orders',
        key: 'ü',
        position: 7n,
        table: 'public.orders',
        type: 'order',
        bytes: 6n,
        reason: 'too large',
        parkedAtMs: 1n,
        triedAtMs: 1n,
      },
    ]);
    expect(sizeOf({ key: 'abc', payload: null })).toBe(3);
  });

  it('the row and later rows of its key wait; other keys, other topics and an earlier row do not', () => {
    const parked = parkedBy(rowOf('a', 7));
    expect(waits(parked, rowOf('a', 7))).toBe(true);
    expect(waits(parked, rowOf('a', 8))).toBe(true);
    expect(waits(parked, rowOf('a', 6))).toBe(false);
    expect(waits(parked, rowOf('b', 8))).toBe(false);
    expect(waits(parked, rowOf('a', 8, { topic: 'bills' }))).toBe(false);
    expect(waits(NOTHING_PARKED, rowOf('a', 8))).toBe(false);
  });

  it('is bounded in keys and in bytes, and says so', () => {
    const full = parkedBy(...Array.from({ length: PARKED_KEYS_MAX }, (_, i) => rowOf(`k${i}`, i + 1)));
    expect(park(full, faultOf(rowOf('one more', 5_000)))).toEqual({
      kind: 'no room',
      reason: expect.stringContaining('1000 keys are parked already'),
    });
    expect(park(full, faultOf(rowOf('k0', 0))).kind).toBe('parked');
    expect(park(NOTHING_PARKED, faultOf(rowOf('x'.repeat(300_000), 1)))).toMatchObject({ kind: 'no room' });
  });

  it('long names and reasons are cut, a key never', () => {
    const long = 'y'.repeat(2_000);
    const row = rowOf(long, 1, { type: long, headers: { tm_table: long } });
    const answer = park(NOTHING_PARKED, { row, reason: long, atMs: 1n });
    const [entry] = answer.kind === 'parked' ? answer.parked.values() : [];
    expect(entry?.key).toBe(long);
    for (const text of [entry?.type, entry?.table, entry?.reason]) expect(text).toHaveLength(PARKED_TEXT_MAX + 1);
  });
});

describe('a try', () => {
  const parked = parkedBy(rowOf('a', 3), rowOf('b', 5), rowOf('c', 6));
  const ids = [keyId(rowOf('a', 0)), keyId(rowOf('b', 0))];

  it('frees the keys of which nothing waits any more', () => {
    const after = afterTry(parked, { ids, faults: new Map(), place: 9n, isLast: true });
    expect([...after.keys()]).toEqual([keyId(rowOf('c', 0))]);
    expect(changesOf(parked, after)).toMatchObject({
      parked: [],
      freed: [{ key: 'a' }, { key: 'b' }],
      triedInVain: [],
    });
  });

  it('moves a key to its next row that cannot be sent, which then waits since the first one did', () => {
    const faults = new Map([[keyId(rowOf('a', 0)), faultOf(rowOf('a', 8), 20n)]]);
    const after = afterTry(parked, { ids, faults, place: 9n, isLast: true });
    expect(after.get(keyId(rowOf('a', 0)))).toMatchObject({ position: 8n, parkedAtMs: 1n, triedAtMs: 20n });
    expect(changesOf(parked, after)).toMatchObject({
      parked: [],
      freed: [{ key: 'b' }],
      triedInVain: [{ key: 'a' }],
      waitsNewly: [],
    });
  });

  it('that ends before the last row leaves the keys waiting behind its place, without counting as one in vain', () => {
    const after = afterTry(parked, { ids, faults: new Map(), place: 5n, isLast: false });
    expect([...after.values()].map(({ position }) => position)).toEqual([6n, 6n, 6n]);
    expect(changesOf(parked, after)).toEqual({ parked: [], freed: [], triedInVain: [], waitsNewly: [] });
  });

  it('of a page that did not reach a key says nothing of it', () => {
    const after = afterTry(parked, { ids, faults: new Map(), place: 3n, isLast: false });
    expect([...after.values()].map(({ position }) => position)).toEqual([4n, 5n, 6n]);
  });
});

it('where a key waits that did not before, what is published there is named; of a lowered one only the part below', () => {
  const before = parkedBy(rowOf('a', 8));
  expect(changesOf(before, parkedBy(rowOf('a', 5), rowOf('b', 9))).waitsNewly).toEqual([
    { topic: 'orders', key: 'a', position: 5n, below: 8n },
    { topic: 'orders', key: 'b', position: 9n, below: null },
  ]);
});

it('what waits no longer is named: all of a key that is free, of one that moved on the part before', () => {
  const before = parkedBy(rowOf('free', 1), rowOf('moved on', 2), rowOf('stays', 3), rowOf('lowered', 9));
  const after = parkedBy(rowOf('moved on', 5), rowOf('stays', 3), rowOf('lowered', 4), rowOf('new', 6));
  expect(releasedParts(before, after)).toEqual([
    { topic: 'orders', key: 'free', position: 1n, below: null },
    { topic: 'orders', key: 'moved on', position: 2n, below: 5n },
  ]);
  expect(releasedParts(before, before)).toEqual([]);
});

/** Rows of few keys in position order; some cannot be sent until they are healed. Pages and tries of any size. */
it('P9: whatever is parked, tried and healed in any order and in pages of any size: each row once, per key in order', () => {
  const stories = fc.record({
    keys: fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 30 }),
    bad: fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }),
    pages: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 60, maxLength: 60 }),
    healAt: fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 30, maxLength: 30 }),
  });
  fc.assert(
    fc.property(stories, ({ keys, bad, pages, healAt }) => {
      const rows = keys.map((key, index) => rowOf(`k${key}`, index + 1));
      const sent: OutboxRow[] = [];
      let parked = NOTHING_PARKED;
      let passed = 0;
      const isBad = ({ position }: OutboxRow, round: number) => {
        const index = Number(position) - 1;
        return bad[index] === true && (healAt[index] ?? 0) > round;
      };
      for (let round = 0; round < 60; round += 1) {
        for (const row of rows.slice(passed, passed + (pages[round] ?? 1))) {
          passed += 1;
          if (waits(parked, row)) continue;
          if (!isBad(row, round)) sent.push(row);
          else parked = parkedOf(park(parked, faultOf(row, BigInt(round))), parked);
        }
        const ids = [...parked.keys()].slice(0, (round % 3) + 1);
        const waiting = rows.slice(0, passed).filter((row) => ids.includes(keyId(row)) && waits(parked, row));
        const page = waiting.slice(0, pages[59 - round]);
        const faults = new Map<string, RowFault>();
        for (const row of page) {
          if (faults.has(keyId(row))) continue;
          if (isBad(row, round)) faults.set(keyId(row), faultOf(row, BigInt(round)));
          else sent.push(row);
        }
        const isLast = page.length === waiting.length;
        parked = afterTry(parked, { ids, faults, place: page.at(-1)?.position ?? 0n, isLast });
      }
      expect(parked.size).toBe(0);
      for (const key of new Set(rows.map((row) => row.key)))
        expect(sent.filter((row) => row.key === key)).toEqual(rows.filter((row) => row.key === key));
    }),
  );
});

function parkedOf(answer: ReturnType<typeof park>, before: ParkedKeys): ParkedKeys {
  return answer.kind === 'parked' ? answer.parked : before;
}
