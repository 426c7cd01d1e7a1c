/**
 * Avro types with three corrections to avsc's defaults: long is bigint over the whole int64 range (avsc's own long
 * refuses what a double cannot hold), collections are bounded by the bytes they are read from, and the attributes of
 * logical types are kept, because the conversion from JSON text needs them. The decoded value of a logical type is the
 * plain one below it: a timestamp is a bigint.
 */
import avro, { type ForSchemaOptions, type Type } from 'avsc';
import { boundedCollection } from './bounded-collections.ts';

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= INT64_MIN && value <= INT64_MAX;
}

function newExactLong(): Type {
  return avro.types.LongType.__with({
    fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
    toBuffer: (value: bigint) => {
      const bytes = Buffer.allocUnsafe(8);
      bytes.writeBigInt64LE(value);
      return bytes;
    },
    // The two JSON functions serve defaults in schemas and avsc's copies, not records.
    fromJSON: BigInt,
    toJSON: (value: bigint) =>
      value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value.toString(),
    isValid: isInt64,
    compare: (a: bigint, b: bigint) => (a === b ? 0 : a < b ? -1 : 1),
  });
}

const exactLong = newExactLong();

export interface LogicalAttributes {
  readonly logicalType: string;
  /** Of a decimal. */
  readonly precision: number | undefined;
  readonly scale: number;
}

const logicalAttributes = new WeakMap<Type, LogicalAttributes>();

/** Undefined for a type without a logical type. */
export function logicalAttributesOf(type: Type): LogicalAttributes | undefined {
  return logicalAttributes.get(type);
}

/** Options for whoever has avsc parse a schema: the registry client and `parseAvroType`. A fresh object for each use. */
export function avroOptions(): Partial<ForSchemaOptions> {
  return { omitRecordMethods: true, typeHook };
}

function typeHook(schema: unknown, options: ForSchemaOptions): Type | undefined {
  if (schema === 'long') return exactLong;
  if (!isPlainSchema(schema)) return undefined;
  if (typeof schema.logicalType !== 'string') {
    return schema.type === 'long' ? exactLong : boundedCollection(schema, options);
  }
  const { logicalType, precision, scale, ...bare } = schema;
  const type = bare.type === 'long' ? newExactLong() : avro.Type.forSchema(bare, options);
  logicalAttributes.set(type, { logicalType, precision: wholeNumber(precision), scale: wholeNumber(scale) ?? 0 });
  return type;
}

/** `{ "type": "long" }` and the like; not a reference, a union, or an object whose type is an object. */
function isPlainSchema(
  schema: unknown,
): schema is { type: 'long'; logicalType?: unknown; precision?: unknown; scale?: unknown } {
  return (
    typeof schema === 'object' &&
    schema !== null &&
    !Array.isArray(schema) &&
    'type' in schema &&
    typeof schema.type === 'string'
  );
}

function wholeNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** Throws avsc's error for text that is no schema. */
export function parseAvroType(schemaText: string): Type {
  return avro.Type.forSchema(JSON.parse(schemaText), avroOptions());
}

/** The full name of a named type, else the kind of type. */
export function nameOfType(type: Type): string {
  return type.name ?? type.typeName.replace('abstract:', '');
}
