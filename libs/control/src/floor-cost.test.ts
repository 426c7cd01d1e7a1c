import type { FloorLook } from '@tidemark/cursors';
import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { floorCostOf } from './floor-cost.ts';

const NOW_MS = 1_700_000_000_000;

function look(floors: Readonly<Record<string, number>>, mark = 0, reservedUntilMs?: number): FloorLook {
  return {
    life: 'a',
    mark: toOffset(mark),
    floors: Object.entries(floors).map(([holder, offset]) => ({ holder, offset: toOffset(offset), reservedUntilMs })),
  };
}

/** Of offsets 40 to 89 of a log that ends at 99. */
function cost(given: FloorLook | undefined, bytesPerOffset: number | undefined = 10) {
  const window = { start: toOffset(39), end: toOffset(89) };
  return floorCostOf({ window, highWatermark: 100n, bytesPerOffset, oldestMs: 7n, look: given, nowMs: NOW_MS });
}

describe('what a floor costs', () => {
  it('is the whole log from the window on where nobody holds anything', () => {
    expect(cost(look({}, 30))).toEqual({
      offset: 40n,
      heldOffsets: 60n,
      heldBytes: 600n,
      lowestNow: null,
      moreOffsets: 60n,
      moreBytes: 600n,
      mark: 30n,
      aboveMark: 10n,
      oldestMs: 7n,
    });
  });

  it('is what lies before the lowest of those that hold already', () => {
    expect(cost(look({ slow: 65, slower: 55 }))).toMatchObject({
      lowestNow: { holder: 'slower', offset: 55n },
      heldOffsets: 60n,
      moreOffsets: 15n,
      moreBytes: 150n,
    });
  });

  it('is nothing behind somebody who holds more', () => {
    expect(cost(look({ slow: 5 }))).toMatchObject({ moreOffsets: 0n, moreBytes: 0n, heldOffsets: 60n });
  });

  it('counts nobody whose reservation has run out, and nobody beyond the end of the log', () => {
    expect(cost(look({ gone: 5 }, 0, NOW_MS - 1))).toMatchObject({ lowestNow: null, moreOffsets: 60n });
    expect(cost(look({ held: 5 }, 0, NOW_MS + 1))).toMatchObject({ moreOffsets: 0n });
    expect(cost(look({ ahead: 500 }))).toMatchObject({ moreOffsets: 60n });
  });

  it('is not known while the store cannot tell who holds what, and never taken for nothing', () => {
    expect(cost(undefined)).toMatchObject({
      heldOffsets: 60n,
      heldBytes: 600n,
      moreOffsets: null,
      moreBytes: null,
      mark: null,
      aboveMark: null,
    });
  });

  it('has no bytes when nothing could be read', () => {
    const window = { start: toOffset(39), end: toOffset(89) };
    const facts = { window, highWatermark: 100n, bytesPerOffset: undefined, oldestMs: null, nowMs: NOW_MS };
    expect(floorCostOf({ ...facts, look: look({}) })).toMatchObject({
      heldBytes: null,
      moreBytes: null,
      moreOffsets: 60n,
    });
  });
});
