/**
 * Arrays and maps that believe no count which the bytes cannot hold. avsc allocates and loops as often as the count
 * says, so a few wrong bytes (a body behind another schema's id) would stop the process for minutes or fill its memory;
 * here they are one undecodable record. Every item takes a byte at least, so a count above the bytes that are left is
 * wrong. (Arrays of nothing but nulls are refused by this; nobody has them.)
 *
 * `_read` and `_skip` are how avsc's types work inside. The version is pinned and the unit tests go through both.
 */
import avro, { type ForSchemaOptions, type Type } from 'avsc';

/** avsc's cursor over the bytes. */
interface Tap {
  readonly buf: Buffer;
  readonly pos: number;
  readLong(): number;
  skipLong(): void;
  readString(): string | undefined;
}

interface Readable {
  _read(tap: Tap): unknown;
}

function readerOf(type: Type): Readable {
  if (isReadable(type)) return type;
  throw new TypeError(`${type.typeName} cannot be read: this is not the avsc that this code was written for`);
}

function isReadable(type: Type): type is Type & Readable {
  return '_read' in type && typeof type._read === 'function';
}

/** Items in the next block; 0 ends the collection. */
function blockCount(tap: Tap): number {
  const count = tap.readLong();
  if (count < 0) tap.skipLong();
  const items = Math.abs(count);
  if (items > tap.buf.length - tap.pos)
    throw new RangeError(`a collection of ${items} items in ${Math.max(0, tap.buf.length - tap.pos)} bytes`);
  return items;
}

// Resolvers borrow `_read` and bring an `itemsType` or `valuesType` of their own, so `this` is not always the type.
class BoundedArrayType extends avro.types.ArrayType {
  _read(tap: Tap): unknown[] {
    const items = readerOf(this.itemsType);
    const values: unknown[] = [];
    for (let count = blockCount(tap); count > 0; count = blockCount(tap)) {
      for (let item = 0; item < count; item++) values.push(items._read(tap));
    }
    return values;
  }

  _skip(tap: Tap): void {
    this._read(tap);
  }
}

class BoundedMapType extends avro.types.MapType {
  _read(tap: Tap): Record<string, unknown> {
    const values = readerOf(this.valuesType);
    const entries: Record<string, unknown> = {};
    for (let count = blockCount(tap); count > 0; count = blockCount(tap)) {
      for (let item = 0; item < count; item++) setEntry(entries, tap.readString() ?? '', values._read(tap));
    }
    return entries;
  }

  _skip(tap: Tap): void {
    this._read(tap);
  }
}

/** An assignment to `__proto__` would not be an entry. */
function setEntry(entries: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') entries[name] = value;
  else Object.defineProperty(entries, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Undefined for schemas of other kinds. */
export function boundedCollection(schema: { readonly type: string }, options: ForSchemaOptions): Type | undefined {
  if (isKind(schema, 'array')) return new BoundedArrayType(schema, options);
  if (isKind(schema, 'map')) return new BoundedMapType(schema, options);
  return undefined;
}

function isKind<Kind extends 'array' | 'map'>(
  schema: { readonly type: string },
  kind: Kind,
): schema is Kind extends 'array' ? { type: 'array'; items: 'null' } : { type: 'map'; values: 'null' } {
  return schema.type === kind;
}
