import avro, { type Type } from 'avsc';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { logicalAttributesOf, parseAvroType } from './avro-type.ts';

const parse = (schema: unknown): Type => parseAvroType(JSON.stringify(schema));
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const row = (type: unknown) => parse({ type: 'record', name: 'Row', fields: [{ name: 'f', type }] });
const throughField = (type: unknown, f: unknown): unknown => {
  const record = row(type);
  return record.fromBuffer(record.toBuffer({ f })).f;
};

describe('long', () => {
  it.each(['long', { type: 'long' }, { type: 'long', logicalType: 'timestamp-micros' }, ['null', 'long']])(
    'is exact over all of int64 as %j',
    (type) => {
      fc.assert(fc.property(int64, (value) => throughField(type, value) === value));
      for (const value of [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n])
        expect(throughField(type, value)).toBe(value);
    },
  );

  it('has the bytes that Avro says', () => {
    // The table of the specification, "Binary Encoding": 0 00, -1 01, 1 02, -64 7f, 64 80 01.
    const examples = [
      [0n, '00'],
      [-1n, '01'],
      [1n, '02'],
      [-64n, '7f'],
      [64n, '8001'],
      [2n ** 63n - 1n, 'feffffffffffffffff01'],
    ] as const;
    for (const [value, hex] of examples) expect(parse('long').toBuffer(value).toString('hex')).toBe(hex);
  });

  it('refuses numbers and what is beyond 64 bits', () => {
    for (const wrong of [1, '1', 2n ** 63n, -(2n ** 63n) - 1n, null])
      expect(() => parse('long').toBuffer(wrong)).toThrow();
  });

  it('has bigint defaults, and two versions of one record side by side', () => {
    const v1 = parse({ type: 'record', name: 'Row', fields: [{ name: 'a', type: 'long' }] });
    const v2 = parse({
      type: 'record',
      name: 'Row',
      fields: [
        { name: 'a', type: 'long' },
        { name: 'b', type: 'long', default: 7 },
      ],
    });
    expect(v2.fromBuffer(v1.toBuffer({ a: 1n }), v2.createResolver(v1))).toEqual({ a: 1n, b: 7n });
  });
});

describe('logical types', () => {
  it('keep their attributes and their plain values', () => {
    const type = parse({ type: 'bytes', logicalType: 'decimal', precision: 10, scale: 2 });
    expect(logicalAttributesOf(type)).toEqual({ logicalType: 'decimal', precision: 10, scale: 2 });
    expect(type.fromBuffer(type.toBuffer(Buffer.from([1])))).toEqual(Buffer.from([1]));
    expect(logicalAttributesOf(parse('long'))).toBeUndefined();
  });
});

describe('collections', () => {
  const countOf = (items: bigint): Buffer => parse('long').toBuffer(items);

  it.each([
    [{ type: 'array', items: 'long' }, [1n, 2n, 3n]],
    [{ type: 'array', items: { type: 'array', items: 'string' } }, [['a'], [], ['b', 'c']]],
    [{ type: 'map', values: 'long' }, JSON.parse('{"a":"x"}', (key, value) => (key === 'a' ? 5n : value))],
  ])('%j read back as what was written', (type, value) => {
    expect(throughField(type, value)).toEqual(value);
  });

  it('read blocks with a size, as other writers make them', () => {
    // -2 items, 2 bytes long, then the end: a reader may skip the block by its size.
    const bytes = Buffer.concat([countOf(-2n), countOf(2n), Buffer.from([2, 4]), countOf(0n)]);
    expect(parse({ type: 'array', items: 'long' }).fromBuffer(bytes)).toEqual([1n, 2n]);
  });

  it('read a map entry called __proto__ as an entry', () => {
    const type = parse({ type: 'map', values: 'long' });
    const written = Object.fromEntries([['__proto__', 1n]]);
    expect(Object.entries(type.fromBuffer(type.toBuffer(written)))).toEqual([['__proto__', 1n]]);
  });

  it.each([
    { type: 'array', items: 'long' },
    { type: 'array', items: 'null' },
    { type: 'map', values: 'long' },
  ])('%j believe no count that the bytes cannot hold', (schema) => {
    for (const items of [1_000n, 2n ** 31n, 2n ** 52n, -(2n ** 40n)]) {
      const bytes = Buffer.concat([countOf(items), Buffer.from([2, 2, 2, 0])]);
      expect(() => parse(schema).fromBuffer(bytes)).toThrow('a collection of');
      expect(() => row(schema).fromBuffer(bytes)).toThrow('a collection of');
    }
  });

  it('are bounded also where a reader leaves the field out', () => {
    const written = parse({
      type: 'record',
      name: 'Row',
      fields: [
        { name: 'many', type: { type: 'array', items: 'long' } },
        { name: 'a', type: 'long' },
      ],
    });
    const reader = parse({ type: 'record', name: 'Row', fields: [{ name: 'a', type: 'long' }] });
    const resolver = reader.createResolver(written);
    expect(reader.fromBuffer(written.toBuffer({ many: [1n, 2n], a: 3n }), resolver)).toEqual({ a: 3n });
    expect(() => reader.fromBuffer(Buffer.concat([countOf(2n ** 52n), Buffer.from([2])]), resolver)).toThrow(
      'a collection of',
    );
  });

  it('know that a subclass of avsc’s own types is what it is', () => {
    expect(avro.Type.isType(parse({ type: 'array', items: 'long' }), 'array')).toBe(true);
  });
});
