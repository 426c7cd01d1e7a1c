/** Confluent framing: a zero byte, the schema id as a big-endian int32, the Avro body. */

export const HEADER_BYTES = 5;
const MAGIC_BYTE = 0;

export function frame(schemaId: number, body: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(HEADER_BYTES + body.length);
  framed[0] = MAGIC_BYTE;
  framed.writeInt32BE(schemaId, 1);
  body.copy(framed, HEADER_BYTES);
  return framed;
}

/** The schema id, or undefined when the bytes are not framed. */
export function schemaIdOf(bytes: Buffer): number | undefined {
  return bytes.length >= HEADER_BYTES && bytes[0] === MAGIC_BYTE ? bytes.readInt32BE(1) : undefined;
}
