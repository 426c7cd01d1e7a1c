/** The lines of Apache's console consumer, read back to bytes. */

export interface ConsoleRecord {
  offset: bigint;
  timestampMs: bigint;
  key: Buffer | null;
  value: Buffer | null;
}

/**
 * `CreateTime:17\tOffset:3\tkey\tvalue`, where a byte that is not printable, or a backslash, is `\xNN`, and null is
 * `nullLiteral`: a word that the caller drew at random, because the consumer prints a value of the same bytes alike.
 */
export function parseConsoleLine(line: string, nullLiteral: string): ConsoleRecord {
  const match = /^(?:CreateTime|LogAppendTime|NoTimestampType):(-?\d+)\tOffset:(\d+)\t([^\t]*)\t([^\t]*)$/.exec(line);
  if (!match) throw new Error(`the console consumer printed an unexpected line: ${line.slice(0, 200)}`);
  const [, timestampMs = '', offset = '', key = '', value = ''] = match;
  return {
    offset: BigInt(offset),
    timestampMs: BigInt(timestampMs),
    key: bytesOf(key, nullLiteral),
    value: bytesOf(value, nullLiteral),
  };
}

function bytesOf(field: string, nullLiteral: string): Buffer | null {
  if (field === nullLiteral) return null;
  const text = field.replaceAll(/\\x([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(text, 'latin1');
}
