/**
 * JSON text to Avro values, led by the schema and exact: numbers go from text to bigint or Buffer without a double in
 * between. The forms are those in which Postgres' to_jsonb prints a row; the README lists them.
 */
import type { Type } from 'avsc';
import avro from 'avsc';
import { parse, stringify } from 'lossless-json';
import { isInt64, nameOfType } from './avro-type.ts';
import { contractsError } from './errors.ts';
import { describeJson, isNumberText, type JsonNode, Misfit, misfit, within } from './json-node.ts';
import { convertLogical } from './json-to-logical.ts';
import { wholeNumberOf } from './number-text.ts';
import type { AvroValue } from './ports.ts';

export interface JsonToAvroOptions {
  readonly type: Type;
  readonly json: string;
  /** Named in errors. */
  readonly subject: string;
  /** Fields that the schema does not know: a user's table got a column (`ignore`), or one of our own records has a slip (`refuse`). */
  readonly unknownFields: 'ignore' | 'refuse';
}

/** Throws TidemarkError `data` (NOT_ENCODABLE) with the path and what was expected there; values are not repeated. */
export function jsonToAvro(options: JsonToAvroOptions): AvroValue {
  const { type, json, subject } = options;
  let node: JsonNode;
  try {
    node = parse(json) as JsonNode;
  } catch (error) {
    throw contractsError('NOT_ENCODABLE', `${subject}: the text is not JSON`, { subject }, error);
  }
  try {
    return convert(type, node, options.unknownFields === 'refuse');
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    throw contractsError('NOT_ENCODABLE', `${subject}: ${error.message}`, { subject, path: error.path }, error);
  }
}

function convert(type: Type, node: JsonNode, strict: boolean): AvroValue {
  const logical = convertLogical(type, node);
  if (logical !== undefined) return logical;
  if (type instanceof avro.types.RecordType) return convertRecord(type, node, strict);
  if (type instanceof avro.types.ArrayType) return convertArray(type, node, strict);
  if (type instanceof avro.types.MapType) return convertMap(type, node, strict);
  if (type instanceof avro.types.UnwrappedUnionType || type instanceof avro.types.WrappedUnionType)
    return convertUnion(type, node, strict);
  if (type instanceof avro.types.EnumType) {
    return typeof node === 'string' && type.symbols.includes(node)
      ? node
      : misfit(`one of ${type.symbols.join(', ')}`, node);
  }
  if (type instanceof avro.types.FixedType) return convertBytes(node, type.size);
  return convertPrimitive(type, node, strict);
}

function convertPrimitive(type: Type, node: JsonNode, strict: boolean): AvroValue {
  switch (type.typeName) {
    case 'null':
      return node === null ? null : misfit('null', node);
    case 'boolean':
      return typeof node === 'boolean' ? node : misfit('a boolean', node);
    case 'int':
      return convertInt(node);
    case 'abstract:long':
      return convertLong(node);
    case 'float':
    case 'double':
      return convertDouble(type.typeName, node);
    case 'bytes':
      return convertBytes(node, undefined);
    case 'string':
      return convertString(node, strict);
    default:
      return misfit(`a ${nameOfType(type)}, which has no form in JSON here`, node);
  }
}

function convertRecord(type: InstanceType<typeof avro.types.RecordType>, node: JsonNode, strict: boolean): AvroValue {
  if (!isObject(node)) return misfit(`an object (${nameOfType(type)})`, node);
  if (strict) refuseUnknownFields(type, node);
  const record: Record<string, AvroValue> = {};
  for (const field of type.fields) {
    record[field.name] = within(field.name, () =>
      Object.hasOwn(node, field.name) ? convert(field.type, node[field.name] ?? null, strict) : absent(field),
    );
  }
  return record;
}

function absent(field: InstanceType<typeof avro.types.Field>): AvroValue {
  const fallback: AvroValue | undefined = field.defaultValue();
  if (fallback !== undefined) return fallback;
  return field.type.isValid(null) ? null : misfit(`a ${nameOfType(field.type)}`, undefined);
}

function refuseUnknownFields(
  type: InstanceType<typeof avro.types.RecordType>,
  node: { readonly [name: string]: JsonNode },
): void {
  const known = type.fields.map((field) => field.name);
  for (const name of Object.keys(node)) {
    if (!known.includes(name))
      within(name, () => misfit(`no such field; ${nameOfType(type)} has ${known.join(', ')}`, node[name]));
  }
}

function convertArray(type: InstanceType<typeof avro.types.ArrayType>, node: JsonNode, strict: boolean): AvroValue {
  if (!isArray(node)) return misfit('an array', node);
  return node.map((item, index) => within(String(index), () => convert(type.itemsType, item, strict)));
}

function convertMap(type: InstanceType<typeof avro.types.MapType>, node: JsonNode, strict: boolean): AvroValue {
  if (!isObject(node)) return misfit('an object (a map)', node);
  const entries = Object.entries(node).map(
    ([name, value]) => [name, within(name, () => convert(type.valuesType, value, strict))] as const,
  );
  return Object.fromEntries(entries);
}

type UnionType = InstanceType<typeof avro.types.UnwrappedUnionType> | InstanceType<typeof avro.types.WrappedUnionType>;

/** Nullable types are the usual case and keep precise errors; of several branches the first that fits is taken, those of the JSON value's own kind before others. */
function convertUnion(type: UnionType, node: JsonNode, strict: boolean): AvroValue {
  const others = type.types.filter((branch) => branch.typeName !== 'null');
  if (node === null) return others.length < type.types.length ? null : misfit(describeBranches(others), node);
  const [first, second] = others;
  if (first !== undefined && second === undefined) return wrap(type, first, convert(first, node, strict));
  const ownKind = others.filter((branch) => isOwnKind(branch, node));
  for (const branch of [...ownKind, ...others.filter((candidate) => !ownKind.includes(candidate))]) {
    try {
      return wrap(type, branch, convert(branch, node, strict));
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
    }
  }
  return misfit(describeBranches(others), node);
}

/** avsc wants the branch named where the value alone does not tell it. */
function wrap(type: UnionType, branch: Type, value: AvroValue): AvroValue {
  return type instanceof avro.types.WrappedUnionType ? { [branch.branchName ?? nameOfType(branch)]: value } : value;
}

function describeBranches(branches: readonly Type[]): string {
  return `one of ${branches.map((branch) => nameOfType(branch)).join(', ')}`;
}

function isOwnKind(type: Type, node: JsonNode): boolean {
  switch (type.typeName) {
    case 'boolean':
      return typeof node === 'boolean';
    case 'int':
    case 'abstract:long':
    case 'float':
    case 'double':
      return isNumberText(node);
    case 'array':
      return isArray(node);
    case 'record':
    case 'map':
      return isObject(node);
    default:
      return typeof node === 'string';
  }
}

const SHORT_WHOLE_NUMBER = /^-?\d{1,18}$/;

/** Numbers, and their text: JSON writers that fear for 64-bit numbers send them as strings. */
function wholeNumber(node: JsonNode): bigint | undefined {
  const text = isNumberText(node) ? node.value : typeof node === 'string' ? node : '';
  return SHORT_WHOLE_NUMBER.test(text) ? BigInt(text) : wholeNumberOf(text);
}

function convertInt(node: JsonNode): AvroValue {
  const whole = wholeNumber(node);
  return whole !== undefined && BigInt.asIntN(32, whole) === whole
    ? Number(whole)
    : misfit('a whole number of 32 bits', node);
}

function convertLong(node: JsonNode): AvroValue {
  const whole = wholeNumber(node);
  return isInt64(whole) ? whole : misfit('a whole number of 64 bits', node);
}

/** Postgres prints the values that JSON numbers cannot say as text. */
const SPECIAL_DOUBLES: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
};

function convertDouble(kind: 'float' | 'double', node: JsonNode): AvroValue {
  if (typeof node === 'string' && Object.hasOwn(SPECIAL_DOUBLES, node)) return SPECIAL_DOUBLES[node] ?? 0;
  const value = isNumberText(node) ? Number(node.value) : Number.NaN;
  return Number.isFinite(kind === 'float' ? Math.fround(value) : value) ? value : misfit(`a ${kind}`, node);
}

/** `\x` and hexadecimal digits, as Postgres prints bytea. */
function convertBytes(node: JsonNode, size: number | undefined): AvroValue {
  const expected = `\\x and ${size === undefined ? 'an even number of' : size * 2} hexadecimal digits`;
  if (typeof node !== 'string' || !/^\\x(?:[0-9a-fA-F]{2})*$/.test(node)) return misfit(expected, node);
  const bytes = Buffer.from(node.slice(2), 'hex');
  return size === undefined || bytes.length === size ? bytes : misfit(expected, node);
}

/** A string field holds any scalar in its exact text (numeric columns), and in users' schemas any JSON (jsonb columns). */
function convertString(node: JsonNode, strict: boolean): AvroValue {
  if (typeof node === 'string') return node;
  if (isNumberText(node)) return node.value;
  if (typeof node === 'boolean') return String(node);
  if (node === null || strict) return misfit('a string', node);
  return stringify(node) ?? misfit('a string', node);
}

function isArray(node: JsonNode): node is readonly JsonNode[] {
  return Array.isArray(node);
}

function isObject(node: JsonNode): node is { readonly [name: string]: JsonNode } {
  return describeJson(node) === 'an object';
}
