/** Our own records: their types, reading them back with their version checked, and making them from JSON text. */
import type { Type } from 'avsc';
import { parseAvroType } from './avro-type.ts';
import { contractsError } from './errors.ts';
import { type RecordsByName, schemaTexts } from './generated/records.ts';
import { jsonToAvro } from './json-to-avro.ts';
import type { AvroValue, Decoded, RecordOf, SchemaName } from './ports.ts';

const parsedTypes = new Map<string, Type>();

function isOwnName(name: string): name is keyof RecordsByName {
  return Object.hasOwn(schemaTexts, name);
}

/** Undefined for names that are not in `schemas/`. */
export function ownTypeOf(fullName: string): Type | undefined {
  return isOwnName(fullName) ? ownTypeNamed(fullName) : undefined;
}

export function ownTypeNamed(fullName: keyof RecordsByName): Type {
  const known = parsedTypes.get(fullName);
  if (known !== undefined) return known;
  const type = parseAvroType(schemaTexts[fullName]);
  parsedTypes.set(fullName, type);
  return type;
}

/** The codec hands our own records over in the shape of their schema, so the name decides. */
function isRecord<Name extends SchemaName>(
  decoded: Decoded,
  name: Name,
): decoded is Decoded & { readonly value: AvroValue & RecordOf<Name> } {
  return decoded.schema === name;
}

/**
 * The typed record, when it is the one that was expected and in a format that this program knows.
 * Throws TidemarkError WRONG_RECORD (`data`) or NEWER_FORMAT (`config`).
 */
export function readRecord<Name extends SchemaName>(decoded: Decoded, name: Name): RecordOf<Name> {
  if (!isRecord(decoded, name)) {
    throw contractsError('WRONG_RECORD', `expected a ${name}, found a ${decoded.schema}`, {
      expected: name,
      found: decoded.schema,
    });
  }
  expectFormat(decoded.value, FORMATS_KNOWN[name] ?? FORMAT_FIRST, name);
  return decoded.value;
}

/** What formats are at, unless something else is said; the schemas' default of `formatVersion` says the same. */
const FORMAT_FIRST = 1;
/** By full name. */
const FORMATS_KNOWN: Readonly<Record<string, number>> = {
  'dev.tidemark.RelayPosition': 2,
  'dev.tidemark.JobRequested': 2,
  'dev.tidemark.JobState': 2,
  'dev.tidemark.SeriesOrder': 2,
  'dev.tidemark.SeriesState': 2,
};

/** Refuses a record that a newer program wrote, by name (NEWER_FORMAT). A record without a version has none to refuse. */
export function expectFormat(record: object, known: number, name = 'the record'): void {
  const version = 'formatVersion' in record ? record.formatVersion : undefined;
  if (typeof version !== 'number' || version <= known) return;
  throw contractsError(
    'NEWER_FORMAT',
    `${name} is in format ${version}, this program knows up to ${known}: update this program`,
    { name, version, known },
  );
}

/**
 * One of our records from JSON text: absent fields get the schema's defaults, unknown ones are refused. Throws
 * TidemarkError NOT_ENCODABLE with the path and what was expected there.
 */
export function jsonToRecord<Name extends SchemaName>(name: Name, json: string): RecordOf<Name> {
  const value = jsonToAvro({ type: ownTypeNamed(name), json, subject: name, unknownFields: 'refuse' });
  return readRecord({ schema: name, value }, name);
}
