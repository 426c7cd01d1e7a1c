import { crc32c } from '@platformatic/kafka';
import { type Offset, toOffset } from '@tidemark/keyspace';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerWalk, nextOffsetAfter } from './answer-walk.ts';
import { ChunkBuilder, holeSize } from './chunk-builder.ts';
import { type Bytes, type Chunk, HoleKind } from './ports.ts';
import type { BatchCodecs } from './record-batch.ts';
import { arbitraryActions } from './testing/arbitrary-actions.ts';
import { type BatchShape, encodeBatch, encodeMarker } from './testing/encode-batch.ts';
import { abortedListFor, type ModelLog, playModel } from './testing/model-log.ts';

const checksum = (bytes: Bytes): number => crc32c(bytes);
const reversed = (bytes: Bytes): Bytes => Buffer.from(bytes).reverse();
const codecs: BatchCodecs = { checksum, decompress: (codec, bytes) => (codec === 1 ? reversed(bytes) : undefined) };

function records(first: bigint, count: number, valueBytes = 10) {
  return Array.from({ length: count }, (_, index) => ({
    offset: first + BigInt(index),
    value: Buffer.alloc(valueBytes, index),
  }));
}

function batch(shape: Omit<BatchShape, 'baseOffset'> & { baseOffset?: bigint }): Bytes {
  return encodeBatch({ baseOffset: shape.records[0]?.offset ?? 0n, ...shape }, checksum);
}

function bounds(cursor: bigint, end: bigint, limits: { recordsMax?: number; bytesMax?: number } = {}) {
  return {
    cursor: toOffset(cursor),
    end: toOffset(end),
    recordsMax: limits.recordsMax ?? 1_000,
    bytesMax: limits.bytesMax ?? 1_000_000,
  };
}

function walkOf(...batches: Bytes[]): AnswerWalk {
  return new AnswerWalk({ buffer: Buffer.concat(batches), aborted: [], codecs });
}

function offsetsOf(chunk: Chunk): bigint[] {
  return chunk.records.map(({ offset }) => BigInt(offset));
}

describe('walking an answer', () => {
  it('A6: delivers only what the window holds of a batch that is larger on both sides', () => {
    const chunk = new ChunkBuilder(bounds(3n, 7n));
    expect(walkOf(batch({ records: records(0n, 10) })).walkInto(chunk).kind).toBe('end');
    expect(offsetsOf(chunk.build())).toEqual([4n, 5n, 6n, 7n]);
  });

  it('goes on in the middle of a batch where the chunk before was full', () => {
    const walk = walkOf(batch({ records: records(0n, 5) }));
    const first = new ChunkBuilder(bounds(-1n, 100n, { recordsMax: 2 }));
    expect(walk.walkInto(first).kind).toBe('full');
    const second = new ChunkBuilder(bounds(1n, 100n));
    expect(walk.walkInto(second).kind).toBe('exhausted');
    expect([offsetsOf(first.build()), offsetsOf(second.build())]).toEqual([
      [0n, 1n],
      [2n, 3n, 4n],
    ]);
  });

  it('A1: a full chunk still takes the holes that follow, up to the end', () => {
    const chunk = new ChunkBuilder(bounds(-1n, 3n, { recordsMax: 3 }));
    const marker = encodeMarker({ offset: 3n, producerId: 1n, outcome: 'commit' }, checksum);
    const walk = walkOf(batch({ records: records(0n, 3), producerId: 1n, transactional: true }), marker);
    expect(walk.walkInto(chunk).kind).toBe('end');
    expect(chunk.build()).toMatchObject({ end: 3n, holes: [{ first: 3n, last: 3n, kind: HoleKind.marker }] });
  });

  it('bounds bytes, but lets the first record be larger', () => {
    const walk = walkOf(batch({ records: [...records(0n, 1, 60), ...records(1n, 2, 10)] }));
    const alone = new ChunkBuilder(bounds(-1n, 9n, { bytesMax: 50 }));
    walk.walkInto(alone);
    expect(alone.build()).toMatchObject({ end: 0n, bytes: 60 });
    const rest = new ChunkBuilder(bounds(0n, 9n, { bytesMax: 15 }));
    walk.walkInto(rest);
    expect(rest.build()).toMatchObject({ end: 1n, bytes: 10 });
  });

  it('names what compaction took: between batches, inside one, at its end, and all of one', () => {
    const chunk = new ChunkBuilder(bounds(-1n, 30n));
    walkOf(
      batch({ baseOffset: 2n, lastOffset: 6n, records: [{ offset: 3n }, { offset: 5n }] }),
      batch({ baseOffset: 10n, lastOffset: 14n, records: [] }),
      batch({ records: records(20n, 1) }),
    ).walkInto(chunk);
    const built = chunk.build();
    expect(offsetsOf(built)).toEqual([3n, 5n, 20n]);
    expect(built.holes).toEqual([
      { first: 0n, last: 2n, kind: HoleKind.compacted },
      { first: 4n, last: 4n, kind: HoleKind.compacted },
      { first: 6n, last: 19n, kind: HoleKind.compacted },
    ]);
  });

  it('ends a chunk at exactly the end when the next batch lies beyond it', () => {
    const chunk = new ChunkBuilder(bounds(-1n, 8n));
    walkOf(batch({ records: records(0n, 2) }), batch({ records: records(20n, 2) })).walkInto(chunk);
    expect(chunk.build()).toMatchObject({ end: 8n, holes: [{ first: 2n, last: 8n }] });
  });

  it('does not look at what the broker cut off', () => {
    const whole = batch({ records: records(0n, 2) });
    const cut = batch({ records: records(2n, 2) });
    for (const length of [1, 11, 12, 40, cut.length - 1]) {
      const chunk = new ChunkBuilder(bounds(-1n, 9n));
      expect(walkOf(whole, cut.subarray(0, length)).walkInto(chunk).kind).toBe('exhausted');
      expect(chunk.nextOffset).toBe(2n);
    }
    expect(nextOffsetAfter(Buffer.concat([whole, cut.subarray(0, 40)]))).toBe(2n);
  });

  it('D1: unpacks known codecs, and names the offset of a batch with an unknown one after delivering what is before it', () => {
    const good = batch({ records: records(0n, 2), codec: 1, compress: reversed });
    const walk = walkOf(good, batch({ records: records(2n, 2), codec: 5 }));
    const chunk = new ChunkBuilder(bounds(-1n, 9n));
    expect(walk.walkInto(chunk)).toEqual({ kind: 'unreadable', offset: 2n, message: 'compression codec 5 is unknown' });
    expect(offsetsOf(chunk.build())).toEqual([0n, 1n]);
    expect(walk.walkInto(new ChunkBuilder(bounds(1n, 9n)))).toMatchObject({ kind: 'unreadable', offset: 2n });
  });

  it('refuses a batch with a flipped bit, an older format, and a record that lies about its length', () => {
    const flipped = Buffer.from(batch({ records: records(5n, 2) }));
    flipped.writeUInt8(flipped.readUInt8(70) ^ 1, 70);
    const stop = (bytes: Bytes) => walkOf(bytes).walkInto(new ChunkBuilder(bounds(4n, 9n)));
    expect(stop(flipped)).toMatchObject({
      kind: 'unreadable',
      offset: 5n,
      message: expect.stringContaining('checksum'),
    });
    expect(stop(batch({ records: records(5n, 2), magic: 1 }))).toMatchObject({
      message: expect.stringContaining('format 1'),
    });
    const liar = batch({
      records: records(5n, 2),
      compress: (bytes) => Buffer.concat([Buffer.from([0x7e]), bytes.subarray(1)]),
    });
    expect(stop(liar)).toMatchObject({ kind: 'unreadable', offset: 5n });
  });

  it('reads keys, values, headers and times exactly, null apart from empty', () => {
    const headers: [string, Buffer | null][] = [
      ['b', Buffer.from('1')],
      ['a', null],
      ['b', Buffer.alloc(0)],
    ];
    const odd = { offset: 8n, timestampMs: -5n, key: Buffer.alloc(0), value: null, headers };
    const chunk = new ChunkBuilder(bounds(6n, 9n));
    walkOf(
      batch({ baseOffset: 7n, records: [{ offset: 7n, timestampMs: 2n ** 45n, value: Buffer.from([0, 255]) }, odd] }),
    ).walkInto(chunk);
    expect(chunk.build().records).toEqual([
      { offset: 7n, timestampMs: 2n ** 45n, key: null, value: Buffer.from([0, 255]), headers: [] },
      { offset: 8n, timestampMs: -5n, key: Buffer.alloc(0), value: null, headers },
    ]);
  });

  it('takes the batch time for every record when the broker stamped them', () => {
    const chunk = new ChunkBuilder(bounds(-1n, 1n));
    walkOf(batch({ records: records(0n, 2), logAppendTime: true, maxTimestampMs: 9_000n })).walkInto(chunk);
    expect(chunk.build().records.map(({ timestampMs }) => timestampMs)).toEqual([9_000n, 9_000n]);
  });

  it('D4: keeps every digit of offsets above 2^53', () => {
    const base = 2n ** 53n + 1n;
    const chunk = new ChunkBuilder(bounds(base, base + 2n));
    walkOf(batch({ records: records(base, 5) })).walkInto(chunk);
    expect(offsetsOf(chunk.build())).toEqual([base + 1n, base + 2n]);
  });
});

describe('chunks of any log', () => {
  it('tile the window, hold exactly the committed records, and account for every offset', () => {
    const actions = arbitraryActions({ producers: 3, actionsMax: 30, recordsMax: 4 });
    const positive = (max: number) => fc.integer({ min: 1, max });
    fc.assert(
      fc.property(
        actions,
        positive(7),
        positive(200),
        positive(400),
        fc.nat(),
        (played, recordsMax, bytesMax, answerBytes, endSeed) => {
          const log = playModel(played);
          if (log.lastStableOffset === 0n) return;
          const end = BigInt(endSeed) % log.lastStableOffset;
          const chunks = readAll(log, { end: toOffset(end), recordsMax, bytesMax, answerBytes });
          expect(chunks.flatMap(offsetsOf)).toEqual(
            [...log.committed].filter((offset) => offset <= end).sort((a, b) => Number(a - b)),
          );
          let cursor = -1n;
          for (const chunk of chunks) {
            expect(chunk.start).toBe(cursor);
            expect(chunk.end - chunk.start).toBe(BigInt(chunk.records.length) + holeSize(chunk.holes));
            expect(chunk.records.length).toBeLessThanOrEqual(recordsMax);
            if (chunk.records.length > 1) expect(chunk.bytes).toBeLessThanOrEqual(bytesMax);
            cursor = chunk.end;
          }
          expect(cursor).toBe(end);
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** Reads as a reader does: answers of about `answerBytes`, cut anywhere but never inside their first batch. */
function readAll(
  log: ModelLog,
  limits: { end: Offset; recordsMax: number; bytesMax: number; answerBytes: number },
): Chunk[] {
  const chunks: Chunk[] = [];
  let cursor = toOffset(-1);
  let walk: AnswerWalk | undefined;
  while (cursor < limits.end) {
    const chunk = new ChunkBuilder({ ...limits, cursor });
    for (;;) {
      walk ??= answerAt(log, chunk.nextOffset, limits.answerBytes);
      const stop = walk.walkInto(chunk);
      if (stop.kind === 'unreadable') throw new Error(stop.message);
      if (stop.kind !== 'exhausted') break;
      walk = undefined;
    }
    chunks.push(chunk.build());
    cursor = chunk.build().end;
  }
  return chunks;
}

function answerAt(log: ModelLog, from: bigint, answerBytes: number): AnswerWalk {
  const stable = log.batches.filter(({ first, last }) => last >= from && first < log.lastStableOffset);
  const encoded = stable.map((entry) => {
    const { first, last, producerId } = entry;
    if (entry.kind === 'marker') return encodeMarker({ offset: first, producerId, outcome: entry.outcome }, checksum);
    return batch({ records: records(first, Number(last - first) + 1), producerId, transactional: entry.transactional });
  });
  const length = Math.max(encoded[0]?.length ?? 0, answerBytes);
  const buffer = Buffer.concat(encoded).subarray(0, length);
  return new AnswerWalk({ buffer, aborted: abortedListFor(log, from, nextOffsetAfter(buffer) ?? from), codecs });
}
