import type { Type } from 'avsc';
import { parseAvroType } from '../avro-type.ts';
import { incompatibilities } from '../compatibility.ts';
import type { RecordNode } from './avro-schema.ts';
import { inlineDependencies } from './inline.ts';

type Records = ReadonlyMap<string, RecordNode>;

/** One sentence for every record that the older programs and the newer ones could not exchange; none when all is well. */
export function schemaChanges(older: Records, newer: Records): readonly string[] {
  return [...older.entries()].flatMap(([fullName, record]) => {
    const successor = newer.get(fullName);
    if (successor === undefined) return [`${fullName} is gone: stored records of it could no longer be read`];
    const change = { older: typeOf(record, older), newer: typeOf(successor, newer) };
    return incompatibilities({ ...change, directions: ['backward', 'forward'] }).map(
      (reason) => `${fullName}: ${reason}`,
    );
  });
}

function typeOf(record: RecordNode, records: Records): Type {
  return parseAvroType(JSON.stringify(inlineDependencies(record, records)));
}
