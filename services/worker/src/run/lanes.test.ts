import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLanes, type Lanes } from './lanes.ts';

const noKey = () => null;

function takeAll(lanes: Lanes): number[] {
  const taken: number[] = [];
  for (let index = lanes.next(); index !== undefined; index = lanes.next()) taken.push(index);
  return taken;
}

describe('lanes', () => {
  it('none: everything may start at once, in offset order', () => {
    expect(takeAll(createLanes({ ordering: 'none', indexes: [0, 1, 4], keyOf: noKey }))).toEqual([0, 1, 4]);
  });

  it('partition: one after the other', () => {
    const lanes = createLanes({ ordering: 'partition', indexes: [0, 1, 2], keyOf: noKey });
    expect(takeAll(lanes)).toEqual([0]);
    lanes.finished(0);
    expect(takeAll(lanes)).toEqual([1]);
    lanes.finished(1);
    expect(takeAll(lanes)).toEqual([2]);
    lanes.finished(2);
    expect(takeAll(lanes)).toEqual([]);
  });

  it('key: the heads of all keys may start, a successor when its predecessor has finished', () => {
    const keys = ['a', 'b', 'a', 'b', 'c'];
    const lanes = createLanes({
      ordering: 'key',
      indexes: [0, 1, 2, 3, 4],
      keyOf: (index) => Buffer.from(keys[index] ?? ''),
    });
    expect(takeAll(lanes)).toEqual([0, 1, 4]);
    lanes.finished(1);
    expect(takeAll(lanes)).toEqual([3]);
    lanes.finished(0);
    expect(takeAll(lanes)).toEqual([2]);
  });

  it('key: records without a key have no order, and binary keys are not confused', () => {
    const keys = [null, null, Buffer.from([0xff]), Buffer.from([0xfe]), Buffer.from([])];
    const lanes = createLanes({ ordering: 'key', indexes: [0, 1, 2, 3, 4], keyOf: (index) => keys[index] ?? null });
    expect(takeAll(lanes)).toEqual([0, 1, 2, 3, 4]);
  });

  it('key: prefers the successor of a finished record over a new head, so that the prefix grows', () => {
    const keys = ['a', 'a', 'b', 'c'];
    const lanes = createLanes({
      ordering: 'key',
      indexes: [0, 1, 2, 3],
      keyOf: (index) => Buffer.from(keys[index] ?? ''),
    });
    expect(lanes.next()).toBe(0);
    lanes.finished(0);
    expect(lanes.next()).toBe(1);
    expect(lanes.next()).toBe(2);
  });

  it('runs everything once and never two of one key at the same time, at any concurrency', () => {
    const keysArbitrary = fc.array(fc.option(fc.constantFrom('a', 'b', 'c')), { maxLength: 40 });
    fc.assert(
      fc.property(
        keysArbitrary,
        fc.integer({ min: 1, max: 5 }),
        fc.infiniteStream(fc.nat()),
        (keys, concurrency, picks) => {
          const keyOf = (index: number): Buffer | null => {
            const key = keys[index] ?? null;
            return key === null ? null : Buffer.from(key);
          };
          const lanes = createLanes({ ordering: 'key', indexes: keys.map((_, index) => index), keyOf });
          const running: number[] = [];
          const started: number[] = [];
          for (;;) {
            while (running.length < concurrency) {
              const index = lanes.next();
              if (index === undefined) break;
              const key = keys[index] ?? null;
              if (key !== null) {
                expect(running.some((other) => keys[other] === key)).toBe(false);
                expect(started.some((other) => keys[other] === key && other > index)).toBe(false);
              }
              running.push(index);
              started.push(index);
            }
            if (running.length === 0) break;
            const [index] = running.splice((picks.next().value ?? 0) % running.length, 1);
            lanes.finished(index ?? 0);
          }
          expect([...started].sort((a, b) => a - b)).toEqual(keys.map((_, index) => index));
        },
      ),
    );
  });
});
