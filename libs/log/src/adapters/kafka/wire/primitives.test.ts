/** What is written, and what is read, is what another implementation of the protocol reads and writes. */
import { Reader, Writer } from '@platformatic/kafka';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerReader } from './answer-reader.ts';
import { RequestWriter } from './request-writer.ts';

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const int16 = fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 });
const uuid = fc.uuid();
/** Past the first buffer of the writer, and past one byte of a length. */
const text = fc.string({ unit: 'grapheme', maxLength: 600 });

describe('requests', () => {
  it('are read back by another client', () => {
    fc.assert(
      fc.property(int64, int32, int16, uuid, text, fc.array(int32), (long, int, short, id, words, list) => {
        const writer = new RequestWriter();
        writer.int64(long).int32(int).int16(short).uuid(id).compactString(words).boolean(true);
        writer.compactArray(list, (element) => writer.int32(element)).noTaggedFields();
        const reader = Reader.from(writer.bytes);
        const read = [reader.readInt64(), reader.readInt32(), reader.readInt16(), reader.readUUID()];
        expect([...read, reader.readString(), reader.readBoolean()]).toEqual([long, int, short, id, words, true]);
        expect(reader.readArray((r) => r.readInt32(), true, false)).toEqual(list);
        expect(writer.bytes.subarray(reader.position)).toEqual(Buffer.from([0]));
      }),
    );
  });

  it('name no topic with the zero id', () => {
    expect(new RequestWriter().uuid(undefined).bytes).toEqual(Buffer.alloc(16));
  });

  it.each(['', 'a-topic-name', '00000000-0000-0000-0000-00000000000'])('refuse "%s" as a topic id', (id) => {
    expect(() => new RequestWriter().uuid(id)).toThrow('is no topic id');
  });
});

describe('answers', () => {
  it('are read as another client wrote them', () => {
    fc.assert(
      fc.property(int64, int32, int16, uuid, text, fc.array(int32), (long, int, short, id, words, list) => {
        const writer = Writer.create();
        writer.appendInt64(long).appendInt32(int).appendInt16(short).appendUUID(id).appendString(words);
        writer.appendString(null).appendArray(list, (w, element) => w.appendInt32(element), true, false);
        writer.appendTaggedFields([[3, Buffer.from('new')]]).appendInt8(7);
        const answer = new AnswerReader(Buffer.from(writer.buffer));
        const read = [answer.int64(), answer.int32(), answer.int16(), answer.uuid(), answer.compactString()];
        expect(read).toEqual([long, int, short, id, words]);
        expect(answer.compactNullableString()).toBeUndefined();
        expect(answer.compactArray(() => answer.int32())).toEqual(list);
        answer.skipTaggedFields();
        expect(answer.int8()).toBe(7);
      }),
    );
  });

  it('hand out bytes as a view', () => {
    const bytes = Buffer.from([4, 1, 2, 3]);
    expect(new AnswerReader(bytes).compactNullableBytes()?.buffer).toBe(bytes.buffer);
  });

  it.each([
    ['a field', [9, 1, 2]],
    ['a length', [0x80]],
    ['a number that does not end', [0xff, 0xff, 0xff, 0xff, 0xff]],
  ])('that end inside %s are refused', (_, bytes) => {
    expect(() => new AnswerReader(Buffer.from(bytes)).compactNullableBytes()).toThrow(RangeError);
  });
});
