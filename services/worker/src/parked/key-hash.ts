/** Which key a parked record has, in 64 bits: the store keeps no keys. Two keys that meet in one hash wait for each other, which is late and never wrong. */
import { hash } from 'node:crypto';

/** In hexadecimal digits: 64 bits, so that two of a thousand parked keys meet once in 10^13 sets. */
const HASH_DIGITS = 16;

/** Empty for a record without a key: it has no order and waits for nobody. Stored, so it must never change. */
export function keyHashOf(key: Buffer | null): string {
  return key === null ? '' : hash('sha256', key, 'hex').slice(0, HASH_DIGITS);
}
