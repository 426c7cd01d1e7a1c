/** Names of headers are few and come again with every record, so their bytes are kept. */
import type { Bytes } from './ports.ts';

const NAMES_MAX = 256;
const names = new Map<string, Bytes>();

export function nameBytes(name: string): Bytes {
  const known = names.get(name);
  if (known !== undefined) return known;
  if (names.size >= NAMES_MAX) names.clear();
  const bytes = Buffer.from(name);
  names.set(name, bytes);
  return bytes;
}
