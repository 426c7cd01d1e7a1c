/**
 * Fencing tokens: `<epoch>:<grant>`, each 20 characters wide, so that text order is age. The epoch is a Kafka offset that a
 * rebuild of the store draws before it fills it, which is why tokens grow whatever happens to the store or its clock.
 */
import { FIXED_WIDTH, type Offset, toFixedWidth } from '@tidemark/keyspace';
import type { FencingToken } from './ports.ts';

/** What a range has before its first grant; below every token. */
export const NO_TOKEN: FencingToken = '';

export function youngerToken(epoch: Offset, last: FencingToken): FencingToken {
  const prefix = `${toFixedWidth(epoch)}:`;
  const grant = last.startsWith(prefix) ? BigInt(last.slice(prefix.length)) + 1n : 1n;
  return `${prefix}${grant.toString().padStart(FIXED_WIDTH, '0')}`;
}
