/** Decodes the records of a chunk for handlers that want them decoded. A tombstone is a payload of null. */
import type { AvroValue, Codec } from '@tidemark/contracts';
import { classifyFault } from '@tidemark/handlers';
import { describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { LogRecord } from '@tidemark/log';

export interface Undecodable {
  readonly index: number;
  readonly error: string;
}

export type Decoding =
  | { readonly kind: 'decoded'; readonly payloads: readonly AvroValue[]; readonly undecodable: readonly Undecodable[] }
  /** Nothing is known about the records: whether they are good, only the registry could have said. */
  | { readonly kind: 'unavailable'; readonly dependency: string; readonly message: string };

export async function decodeRecords(
  codec: Codec,
  records: readonly LogRecord[],
  indexes: readonly number[],
): Promise<Decoding> {
  const payloads: AvroValue[] = new Array(records.length).fill(null);
  const undecodable: Undecodable[] = [];
  for (const index of indexes) {
    const value = records[index]?.value ?? null;
    if (value === null) continue;
    try {
      // Known schemas decode at once; a promise for every record would cost more than the decoding.
      payloads[index] = (codec.decodeCached(value) ?? (await codec.decode(value))).value;
    } catch (error) {
      if (!(error instanceof TidemarkError) || error.class === ErrorClass.bug) throw error;
      if (error.class !== ErrorClass.data) {
        const fault = classifyFault(error);
        const dependency = fault.kind === 'unavailable' ? fault.dependency : 'schema registry';
        return { kind: 'unavailable', dependency, message: describeError(error) };
      }
      undecodable.push({ index, error: describeError(error) });
    }
  }
  return { kind: 'decoded', payloads, undecodable };
}
