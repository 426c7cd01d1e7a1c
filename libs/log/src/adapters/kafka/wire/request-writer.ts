/** Kafka's primitive types as bytes, in their compact forms (protocol guide, "Protocol Primitive Types"). */
import type { Bytes } from '../../../ports.ts';

const INITIAL_BYTES = 256;
const UUID_BYTES = 16;
const NO_TAGGED_FIELDS = 0;

export class RequestWriter {
  #buffer: Buffer = Buffer.alloc(INITIAL_BYTES);
  #length = 0;

  int8(value: number): this {
    this.#room(1);
    this.#length = this.#buffer.writeInt8(value, this.#length);
    return this;
  }

  int16(value: number): this {
    this.#room(2);
    this.#length = this.#buffer.writeInt16BE(value, this.#length);
    return this;
  }

  int32(value: number): this {
    this.#room(4);
    this.#length = this.#buffer.writeInt32BE(value, this.#length);
    return this;
  }

  int64(value: bigint): this {
    this.#room(8);
    this.#length = this.#buffer.writeBigInt64BE(value, this.#length);
    return this;
  }

  boolean(value: boolean): this {
    return this.int8(value ? 1 : 0);
  }

  /** Undefined = the zero uuid, which names nothing. */
  uuid(id: string | undefined): this {
    this.#room(UUID_BYTES);
    this.#buffer.fill(0, this.#length, this.#length + UUID_BYTES);
    // Writing hex stops at what is none, and a field of another length would shift all that follow.
    if (id !== undefined && this.#buffer.write(id.replaceAll('-', ''), this.#length, 'hex') !== UUID_BYTES)
      throw new RangeError(`"${id}" is no topic id`);
    this.#length += UUID_BYTES;
    return this;
  }

  compactString(text: string): this {
    const bytes = Buffer.byteLength(text);
    this.#unsignedVarint(bytes + 1).#room(bytes);
    this.#length += this.#buffer.write(text, this.#length);
    return this;
  }

  compactBytes(bytes: Bytes): this {
    this.#unsignedVarint(bytes.length + 1).#room(bytes.length);
    this.#length += bytes.copy(this.#buffer, this.#length);
    return this;
  }

  /** The old form of a string, as the request header still has it. */
  string(text: string): this {
    const bytes = Buffer.byteLength(text);
    this.int16(bytes).#room(bytes);
    this.#length += this.#buffer.write(text, this.#length);
    return this;
  }

  /** Writes the count; what follows writes that many elements. */
  compactArray<T>(elements: readonly T[], write: (element: T) => void): this {
    this.#unsignedVarint(elements.length + 1);
    for (const element of elements) write(element);
    return this;
  }

  noTaggedFields(): this {
    return this.#unsignedVarint(NO_TAGGED_FIELDS);
  }

  get bytes(): Bytes {
    return this.#buffer.subarray(0, this.#length);
  }

  #unsignedVarint(value: number): this {
    this.#room(5);
    let rest = value;
    for (; rest >= 0x80; rest >>>= 7) this.#buffer[this.#length++] = (rest & 0x7f) | 0x80;
    this.#buffer[this.#length++] = rest;
    return this;
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const larger = Buffer.alloc(Math.max(this.#buffer.length * 2, this.#length + bytes));
    this.#buffer.copy(larger);
    this.#buffer = larger;
  }
}
