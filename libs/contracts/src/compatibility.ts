/** Can records of two versions of a schema be read with each other's? */
import { describeError } from '@tidemark/keyspace';
import type { Type } from 'avsc';

export type Direction = 'backward' | 'forward';

export interface SchemaChange {
  readonly older: Type;
  readonly newer: Type;
  /** backward: the newer schema reads old records; forward: the older one reads new records. */
  readonly directions: readonly Direction[];
}

/** One sentence per direction that does not work; none when the change is harmless. */
export function incompatibilities(change: SchemaChange): readonly string[] {
  const { older, newer } = change;
  return change.directions.flatMap((direction) => {
    const [reader, writer, what] =
      direction === 'backward'
        ? ([newer, older, 'the new schema cannot read old records'] as const)
        : ([older, newer, 'the old schema cannot read new records'] as const);
    try {
      reader.createResolver(writer);
      return [];
    } catch (error) {
      return [`${what}: ${describeError(error)}`];
    }
  });
}
