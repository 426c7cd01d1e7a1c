import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countFates, fatesOf, planRebase, type RebaseRow, RowFate, skippedRows, sumFates } from './rebase.ts';

const row = (position: number, key: string, topic = 't'): RebaseRow => ({
  position: BigInt(position),
  id: `id-${position}`,
  topic,
  key,
  occurredAtMs: BigInt(position),
});

const NOTHING_TAKEN = new Map<string, bigint>();

describe('what became of rows', () => {
  const rows = [row(1, 'a'), row(2, 'b'), row(3, 'a'), row(4, 'a'), row(5, 'b')];
  const found = new Set(['id-3', 'id-2']);

  it('in a topic that is whole, what is not there was not published', () => {
    expect(fatesOf(rows, { found, takenUpToMs: NOTHING_TAKEN })).toEqual([
      RowFate.unpublished,
      RowFate.published,
      RowFate.published,
      RowFate.unpublished,
      RowFate.unpublished,
    ]);
  });

  it('in a compacted or cut one, what went before a row that is there was published; of the rest nothing is known', () => {
    expect(fatesOf(rows, { found, takenUpToMs: new Map([['t', 9n]]) })).toEqual([
      RowFate.superseded,
      RowFate.published,
      RowFate.published,
      RowFate.unknown,
      RowFate.unknown,
    ]);
  });

  it('but what is newer than whatever was taken was not', () => {
    expect(fatesOf(rows, { found, takenUpToMs: new Map([['t', 4n]]) }).slice(3)).toEqual([
      RowFate.unknown,
      RowFate.unpublished,
    ]);
  });

  it('a key of another topic says nothing, nor does one whose text only looks alike', () => {
    const other = [row(1, 'b', 'a'), row(2, 'a b', 'x'), row(3, 'b', 'x'), row(4, 'b', 'y')];
    const takenUpToMs = new Map(['a', 'x', 'y'].map((topic) => [topic, 9n]));
    expect(fatesOf(other, { found: new Set(['id-2', 'id-4']), takenUpToMs })).toEqual([
      RowFate.unknown,
      RowFate.published,
      RowFate.unknown,
      RowFate.published,
    ]);
  });

  it('each row has one fate, and is counted once', () => {
    const anyRow = fc.record({ key: fc.constantFrom('a', 'b'), topic: fc.constantFrom('t', 'u'), there: fc.boolean() });
    fc.assert(
      fc.property(fc.array(anyRow), fc.boolean(), (drawn, isWhole) => {
        const all = drawn.map(({ key, topic }, index) => row(index + 1, key, topic));
        const there = new Set(all.filter((_, index) => drawn[index]?.there).map(({ id }) => id));
        const takenUpToMs = isWhole ? NOTHING_TAKEN : new Map([['t', 3n]]);
        const fates = fatesOf(all, { found: there, takenUpToMs });
        const sum = sumFates(countFates(all, fates, { takenUpToMs }));
        expect(fates).toHaveLength(all.length);
        expect(Object.values(sum).reduce((a, b) => a + b, 0)).toBe(all.length);
        expect(sum.published).toBe(there.size);
        for (const unknownRows of ['send', 'skip'] as const) {
          const skipped = sum.published + sum.superseded + (unknownRows === 'skip' ? sum.unknown : 0);
          expect(skippedRows(all, fates, unknownRows)).toHaveLength(skipped);
        }
      }),
    );
  });
});

describe('what has to be decided first', () => {
  const fits = { fit: { kind: 'same' }, moves: [], partitioner: 'murmur2' } as const;
  const consents = { movedKeys: false, unknownRows: undefined };
  const none = { unknown: 0, isAsked: false };

  it('nothing, where everything fits', () => {
    expect(planRebase(fits, none, consents)).toEqual({ isNewPosition: false, movesKeys: false, obstacles: [] });
    expect(planRebase({ ...fits, partitioner: undefined }, none, consents).movesKeys).toBe(false);
  });

  it.each([
    ['a partition count', { ...fits, moves: [{ topic: 't', from: 1, to: 2 }] }],
    ['a partitioner', { ...fits, partitioner: 'crc32' }],
  ])('that keys move: %s', (_, fitting) => {
    const plan = planRebase(fitting, none, consents);
    expect(plan).toMatchObject({
      isNewPosition: false,
      movesKeys: true,
      obstacles: [{ option: '--accept-partitions' }],
    });
    expect(planRebase(fitting, none, { ...consents, movedKeys: true }).obstacles).toEqual([]);
  });

  it('what becomes of rows of which nothing is known', () => {
    const lost = { ...fits, fit: { kind: 'lost', reason: '' } } as const;
    expect(planRebase(lost, { unknown: 2, isAsked: false }, consents)).toMatchObject({
      isNewPosition: true,
      obstacles: [{ option: '--unknown send|skip', message: expect.stringContaining('2 rows') }],
    });
    expect(planRebase(lost, { unknown: 2, isAsked: false }, { ...consents, unknownRows: 'skip' }).obstacles).toEqual(
      [],
    );
    expect(planRebase(fits, { unknown: 0, isAsked: true }, consents).isNewPosition).toBe(true);
  });
});
