/**
 * Puts the frames of a TCP stream together: four bytes of length, then so many bytes. Each frame is read straight into a
 * buffer of its own size, so that nothing is copied, and whoever keeps a record keeps its answer and nothing else.
 */
import { ANSWER_BYTES_MAX } from '../../../limits.ts';
import type { Bytes } from '../../../ports.ts';

const LENGTH_BYTES = 4;

export class FrameAssembly {
  readonly #length = Buffer.alloc(LENGTH_BYTES);
  /** The frame that is under way; undefined while its length is. */
  #frame: Bytes | undefined;
  #filled = 0;

  /** Where the next bytes of the stream belong; never empty. */
  space(): Bytes {
    return (this.#frame ?? this.#length).subarray(this.#filled);
  }

  /** So many bytes were put into `space()`. Returns the frame that they complete. Throws when the stream makes no sense. */
  took(bytes: number): Bytes | undefined {
    this.#filled += bytes;
    const frame = this.#frame;
    if (this.#filled < (frame ?? this.#length).length) return undefined;
    this.#filled = 0;
    this.#frame = frame === undefined ? this.#newFrame() : undefined;
    return frame;
  }

  #newFrame(): Bytes {
    const bytes = this.#length.readInt32BE(0);
    if (bytes < LENGTH_BYTES || bytes > ANSWER_BYTES_MAX)
      throw new RangeError(`an answer of ${bytes} bytes is announced: is this a Kafka broker, and without TLS?`);
    // Of its own, not from the shared pool: a record that is kept must not keep other answers alive.
    return Buffer.allocUnsafeSlow(bytes);
  }
}
