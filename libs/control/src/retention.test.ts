import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { type RetentionFacts, RetentionState, retentionOf } from './retention.ts';

const NOW_MS = 1_000;
const log = (logStart: number, end: number) => ({
  partition: 0,
  logStartOffset: toOffset(logStart),
  lastStableOffset: toOffset(end),
  highWatermark: toOffset(end),
});
const floor = (holder: string, offset: number, reservedUntilMs?: number) => ({
  holder,
  offset: toOffset(offset),
  reservedUntilMs,
});
const facts = (floors: readonly ReturnType<typeof floor>[], offsets: RetentionFacts['offsets'] = log(0, 100)) => ({
  offsets,
  look: { life: 'now', mark: toOffset(5), floors },
  storeNowMs: NOW_MS,
});

describe('what a partition must keep', () => {
  it('is held from the lowest floor on, and a reservation that ran out holds nothing', () => {
    const floors = [floor('b', 40), floor('a', 30), floor('gone', 10, NOW_MS - 1), floor('soon', 35, NOW_MS)];
    const seen = retentionOf(facts(floors));
    expect(seen).toMatchObject({ state: 'held', mark: 5n, heldOffsets: 70n, margin: 30n });
    expect(seen.holders.map(({ holder }) => holder)).toEqual(['a', 'soon', 'b']);
    expect(seen.floor?.holder).toBe('a');
    expect(retentionOf(facts([floor('gone', 10, NOW_MS - 1)]))).toMatchObject({ state: 'free', heldOffsets: 0n });
  });

  it('counts only what is still there when records were removed that somebody needs', () => {
    expect(retentionOf(facts([floor('a', 30)], log(50, 100)))).toMatchObject({
      state: RetentionState.recordsRemoved,
      heldOffsets: 50n,
      margin: -20n,
    });
  });

  it('tells what is not filled from what is not known', () => {
    const unlooked = { offsets: log(0, 100), look: 'unknown', storeNowMs: NOW_MS } as const;
    expect(retentionOf({ ...unlooked, look: undefined })).toMatchObject({
      state: 'not filled',
      heldOffsets: undefined,
    });
    expect(retentionOf(unlooked)).toMatchObject({ state: 'unknown', mark: undefined });
    expect(retentionOf({ ...facts([floor('a', 30)]), offsets: undefined })).toMatchObject({
      state: 'unknown',
      floor: { holder: 'a' },
      heldOffsets: undefined,
    });
  });
});
