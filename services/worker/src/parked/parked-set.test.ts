import type { Parking } from '@tidemark/cursors';
import { toOffset } from '@tidemark/keyspace';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyHashOf } from './key-hash.ts';
import { ParkedSet } from './parked-set.ts';

const parking = (offset: number, fields: Partial<Omit<Parking, 'offset'>> = {}): Parking => ({
  offset: toOffset(offset),
  attempt: 3,
  delayMs: 0,
  faultClass: 'transient',
  keyHash: '',
  ...fields,
});

function setOf(parkings: readonly Parking[], nowMs = 0): ParkedSet {
  const set = new ParkedSet();
  for (const each of parkings) set.park(each, nowMs);
  set.moved(parkings);
  return set;
}

const dueAt = (set: ParkedSet, nowMs: number, limit = 100): number[] =>
  set.due(nowMs, limit).map(({ offset }) => Number(offset));

describe('ParkedSet', () => {
  it('hands out what is due, in offset order and bounded', () => {
    const set = setOf([parking(7), parking(3), parking(5, { delayMs: 100 })]);
    expect(dueAt(set, 0)).toEqual([3, 7]);
    expect(dueAt(set, 100)).toEqual([3, 5, 7]);
    expect(dueAt(set, 100, 2)).toEqual([3, 5]);
    expect(set.dueInMs(0)).toBe(0);
  });

  it('hands out nothing that the store does not know yet', () => {
    const set = new ParkedSet();
    set.park(parking(3), 0);
    expect([dueAt(set, 0), set.dueInMs(0), set.size, set.storedCount]).toEqual([[], undefined, 1, 0]);
    set.moved([parking(3)]);
    expect([dueAt(set, 0), set.storedCount]).toEqual([[3], 1]);
  });

  it('keeps the later records of a key waiting until the earlier one is due', () => {
    const set = setOf([
      parking(3, { keyHash: 'a', delayMs: 50 }),
      parking(4, { keyHash: 'a', attempt: 0 }),
      parking(5, { keyHash: 'b' }),
    ]);
    expect(dueAt(set, 0)).toEqual([5]);
    expect(set.holdsKey('a')).toBe(true);
    expect(dueAt(set, 50)).toEqual([3, 4, 5]);
    set.settled([toOffset(5)], [parking(3, { keyHash: 'a', attempt: 4, delayMs: 50 })], 50);
    expect([dueAt(set, 50), set.dueInMs(50)]).toEqual([[], 50]);
    set.settled([toOffset(3)], [], 100);
    expect(dueAt(set, 100)).toEqual([4]);
    set.settled([toOffset(4)], [], 100);
    expect([set.holdsKey('a'), set.size, set.storedCount, set.dueInMs(100)]).toEqual([false, 0, 0, undefined]);
  });

  it('takes over what a former owner parked', () => {
    const set = new ParkedSet();
    const rest = { attempt: 3, faultClass: 'transient', keyHash: '' };
    set.load(
      [
        { offset: toOffset(3), dueInMs: -5, ...rest },
        { offset: toOffset(4), dueInMs: 20, ...rest },
      ],
      1_000,
    );
    expect([dueAt(set, 1_000), set.size, set.storedCount]).toEqual([[3], 2, 2]);
  });

  it('never hands out a record of a key before an earlier one of the key was settled or is handed out with it', () => {
    const records = fc.uniqueArray(
      fc.record({ offset: fc.nat(200), key: fc.constantFrom('', 'a', 'b'), delayMs: fc.nat(100) }),
      { selector: ({ offset }) => offset },
    );
    fc.assert(
      fc.property(records, fc.nat(100), fc.nat(20), (layout, nowMs, limit) => {
        const set = setOf(layout.map(({ offset, key, delayMs }) => parking(offset, { keyHash: key, delayMs })));
        const due = new Set(dueAt(set, nowMs, limit));
        for (const { offset, key, delayMs } of layout) {
          if (!due.has(offset)) continue;
          expect(delayMs).toBeLessThanOrEqual(nowMs);
          if (key !== '')
            for (const other of layout)
              if (other.key === key && other.offset < offset) expect(due.has(other.offset)).toBe(true);
        }
      }),
    );
  });
});

it('hashes keys to 16 hexadecimal digits, records without a key to nothing', () => {
  // The first 64 bits of SHA-256("abc"), FIPS 180-2, appendix B.1.
  expect(keyHashOf(Buffer.from('abc'))).toBe('ba7816bf8f01cfea');
  expect(keyHashOf(Buffer.alloc(0))).toMatch(/^[0-9a-f]{16}$/);
  expect(keyHashOf(null)).toBe('');
});
