/** Reads Kafka's primitive types, in their compact forms. Reading past the end throws RangeError. */
import type { Bytes } from '../../../ports.ts';

const UUID_BYTES = 16;

export class AnswerReader {
  readonly #buffer: Bytes;
  #position = 0;

  constructor(buffer: Bytes) {
    this.#buffer = buffer;
  }

  int8(): number {
    return this.#buffer.readInt8(this.#pass(1));
  }

  int16(): number {
    return this.#buffer.readInt16BE(this.#pass(2));
  }

  int32(): number {
    return this.#buffer.readInt32BE(this.#pass(4));
  }

  int64(): bigint {
    return this.#buffer.readBigInt64BE(this.#pass(8));
  }

  uuid(): string {
    const begin = this.#pass(UUID_BYTES);
    const hex = this.#buffer.toString('hex', begin, begin + UUID_BYTES);
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  }

  compactString(): string {
    return this.compactNullableString() ?? '';
  }

  compactNullableString(): string | undefined {
    return this.compactNullableBytes()?.toString();
  }

  /** A view, not a copy. */
  compactNullableBytes(): Bytes | undefined {
    const length = this.#unsignedVarint() - 1;
    if (length < 0) return undefined;
    const begin = this.#pass(length);
    if (this.#position > this.#buffer.length) throw new RangeError('the answer ends inside a field');
    return this.#buffer.subarray(begin, begin + length);
  }

  /** Null is read as empty. */
  compactArray<T>(read: () => T): T[] {
    const elements: T[] = [];
    for (let left = this.#unsignedVarint() - 1; left > 0; left--) elements.push(read());
    return elements;
  }

  /** What newer brokers add is not for us. */
  skipTaggedFields(): void {
    for (let left = this.#unsignedVarint(); left > 0; left--) {
      this.#unsignedVarint();
      this.#pass(this.#unsignedVarint());
    }
  }

  /** What was not read yet. */
  rest(): Bytes {
    return this.#buffer.subarray(this.#position);
  }

  #pass(bytes: number): number {
    const begin = this.#position;
    this.#position += bytes;
    return begin;
  }

  #unsignedVarint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#buffer.readUInt8(this.#pass(1));
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new RangeError('a number of the answer does not end');
  }
}
