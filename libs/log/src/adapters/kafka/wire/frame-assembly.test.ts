import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ANSWER_BYTES_MAX } from '../../../limits.ts';
import { FrameAssembly } from './frame-assembly.ts';

function framed(body: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
}

/** Hands over the stream in pieces of at most these sizes, as a socket would fill the space that it is given. */
function feed(assembly: FrameAssembly, stream: Buffer, pieces: readonly number[]): Buffer[] {
  const frames: Buffer[] = [];
  let position = 0;
  for (let piece = 0; position < stream.length; piece++) {
    const count = stream.copy(assembly.space(), 0, position, position + (pieces[piece % pieces.length] ?? 1));
    position += count;
    const frame = assembly.took(count);
    if (frame !== undefined) frames.push(frame);
  }
  return frames;
}

it('gives back the frames of any stream, however it is cut', () => {
  const bodies = fc.array(fc.uint8Array({ minLength: 4, maxLength: 40 }), { minLength: 1, maxLength: 8 });
  const pieces = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(bodies, pieces, (sent, cuts) => {
      const frames = feed(new FrameAssembly(), Buffer.concat(sent.map(framed)), cuts);
      expect(frames).toEqual(sent.map((body) => Buffer.from(body)));
    }),
  );
});

it('gives each frame a buffer that no other frame shares', () => {
  const frames = feed(new FrameAssembly(), Buffer.concat([framed(Buffer.alloc(8)), framed(Buffer.alloc(8))]), [3]);
  expect(frames.map((frame) => frame.buffer.byteLength)).toEqual([8, 8]);
});

it.each([
  ['more than any answer', ANSWER_BYTES_MAX + 1],
  ['less than a header', 3],
  ['a negative length', -1],
])('refuses %s', (_, length) => {
  const announced = Buffer.alloc(4);
  announced.writeInt32BE(length);
  expect(() => feed(new FrameAssembly(), announced, [4])).toThrow(`an answer of ${length} bytes`);
});

it('refuses what another protocol says', () => {
  expect(() => feed(new FrameAssembly(), Buffer.from('HTTP/1.1 400 Bad Request'), [4])).toThrow(
    'is this a Kafka broker',
  );
});
