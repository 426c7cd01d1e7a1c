import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { chunk, chunkOf, hole, record } from '../testing/chunks.ts';
import { clipChunk } from './clip.ts';

describe('clipChunk', () => {
  it('leaves a chunk alone that ends below', () => {
    const whole = chunkOf(-1, 3);
    expect(clipChunk(whole, toOffset(2))).toBe(whole);
  });

  it('drops records above the lowered end, and cuts the hole that spans it', () => {
    const cut = clipChunk(chunk(-1, 9, [record(0), record(9)], [hole(1, 8, 'compacted')]), toOffset(4));
    expect(cut).toMatchObject({
      start: -1n,
      end: 4n,
      records: [{ offset: 0n }],
      holes: [{ first: 1n, last: 4n, kind: 'compacted' }],
    });
  });

  it('is empty when the end was lowered to its start', () => {
    expect(clipChunk(chunkOf(4, 2), toOffset(4))).toMatchObject({ start: 4n, end: 4n, records: [], holes: [] });
  });
});
