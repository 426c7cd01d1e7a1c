import { NO_COUNTS } from '@tidemark/keyspace';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Settlement } from '../run/settlement.ts';
import { chunk, chunkOf, hole, record } from '../testing/chunks.ts';
import { SettledPrefix } from './settled-prefix.ts';

describe('SettledPrefix', () => {
  it('F1: moves only over what is settled without a gap, and knows what is done ahead', () => {
    const prefix = new SettledPrefix(chunkOf(-1, 20));
    for (let index = 0; index < 20; index++) if (index !== 5) prefix.settle(index, Settlement.ok);
    expect(prefix.take()).toEqual({ from: -1n, to: 4n, add: { ...NO_COUNTS, ok: 5n }, park: [], passed: [] });
    expect(prefix.doneAhead).toBe(14);
    expect(prefix.take()).toBeUndefined();
    prefix.settle(5, Settlement.ok);
    expect(prefix.take()).toEqual({
      from: 4n,
      to: 19n,
      add: { ...NO_COUNTS, ok: 15n, chunks: 1n },
      park: [],
      passed: [],
    });
    expect(prefix.isComplete).toBe(true);
  });

  it('counts holes with the prefix that reaches them, by kind', () => {
    // 10 record, 11 marker, 12 13 records, 14-15 compacted, 16 record, 17 marker
    const prefix = new SettledPrefix(
      chunk(
        9,
        17,
        [record(10), record(12), record(13), record(16)],
        [hole(11, 11), hole(14, 15, 'compacted'), hole(17, 17)],
      ),
    );
    expect(prefix.take()).toBeUndefined();
    prefix.settle(0, Settlement.ok);
    expect(prefix.take()).toEqual({
      from: 9n,
      to: 11n,
      add: { ...NO_COUNTS, ok: 1n, markers: 1n },
      park: [],
      passed: [],
    });
    prefix.settle(3, Settlement.deadLettered);
    expect(prefix.take()).toBeUndefined();
    prefix.settle(1, Settlement.skipped);
    prefix.settle(2, Settlement.filtered);
    expect(prefix.take()).toEqual({
      from: 11n,
      to: 17n,
      add: { ...NO_COUNTS, skipped: 1n, filtered: 1n, deadLettered: 1n, compacted: 2n, markers: 1n, chunks: 1n },
      park: [],
      passed: [],
    });
  });

  it('lands on the end when only holes remain', () => {
    expect(new SettledPrefix(chunk(2, 3, [], [hole(3, 3)])).take()).toEqual({
      from: 2n,
      to: 3n,
      add: { ...NO_COUNTS, markers: 1n, chunks: 1n },
      park: [],
      passed: [],
    });
  });

  it('moves to just below the first record when holes come first', () => {
    expect(new SettledPrefix(chunk(-1, 3, [record(3)], [hole(0, 2, 'compacted')])).take()).toEqual({
      from: -1n,
      to: 2n,
      add: { ...NO_COUNTS, compacted: 3n },
      park: [],
      passed: [],
    });
  });

  it('keeps the first settlement of a record', () => {
    const prefix = new SettledPrefix(chunkOf(-1, 1));
    prefix.settle(0, Settlement.deadLettered);
    prefix.settle(0, Settlement.ok);
    expect(prefix.take()?.add).toEqual({ ...NO_COUNTS, deadLettered: 1n, chunks: 1n });
  });

  it('counts a retry with the move that passes its record', () => {
    const prefix = new SettledPrefix(chunkOf(-1, 2));
    prefix.addRetry(1);
    prefix.addRetry(1);
    prefix.settle(0, Settlement.ok);
    expect(prefix.take()?.add.retries).toBe(0n);
    prefix.settle(1, Settlement.ok);
    expect(prefix.take()?.add.retries).toBe(2n);
  });

  it('refuses to move over offsets that the chunk does not account for', () => {
    const prefix = new SettledPrefix(chunk(-1, 2, [record(0), record(2)]));
    prefix.settle(0, Settlement.ok);
    prefix.settle(1, Settlement.ok);
    expect(() => prefix.take()).toThrow(expect.objectContaining({ code: 'GAP_IN_CHUNK', class: 'bug' }));
  });

  it('adds up to the span of the chunk for any layout and any order of settling', () => {
    const places = fc.array(fc.constantFrom('record', 'marker', 'compacted'), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(places, fc.infiniteStream(fc.nat()), (layout, picks) => {
        const records = layout.flatMap((place, offset) => (place === 'record' ? [record(offset)] : []));
        const holes = layout.flatMap((place, offset) => (place === 'record' ? [] : [hole(offset, offset, place)]));
        const prefix = new SettledPrefix(chunk(-1, layout.length - 1, records, holes));
        const open = records.map((_, index) => index);
        let cursor = -1n;
        let total = 0n;
        const move = (): void => {
          const moved = prefix.take();
          if (moved === undefined) return;
          expect(moved.from).toBe(cursor);
          expect(moved.to).toBeGreaterThan(cursor);
          const firstOpen = open.length === 0 ? undefined : records[Math.min(...open)]?.offset;
          expect(moved.to).toBe(firstOpen === undefined ? BigInt(layout.length - 1) : firstOpen - 1n);
          cursor = moved.to;
          total += moved.add.ok + moved.add.markers + moved.add.compacted;
        };
        move();
        while (open.length > 0) {
          const [index] = open.splice((picks.next().value ?? 0) % open.length, 1);
          prefix.settle(index ?? 0, Settlement.ok);
          move();
        }
        expect(total).toBe(BigInt(layout.length));
      }),
    );
  });
});
