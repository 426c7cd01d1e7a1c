import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAvroType } from './avro-type.ts';
import { jsonToAvro } from './json-to-avro.ts';

/** Through the bytes and back: what a reader sees. */
function through(schema: unknown, json: string): unknown {
  const type = parseAvroType(JSON.stringify(schema));
  return type.fromBuffer(type.toBuffer(jsonToAvro({ type, json, subject: 'orders-value', unknownFields: 'ignore' })));
}

const record = (fields: readonly object[]): object => ({ type: 'record', name: 'Row', namespace: 'x', fields });
const field = (type: unknown, json: string): unknown =>
  (through(record([{ name: 'f', type }]), `{"f":${json}}`) as { f: unknown }).f;
const refusal = (type: unknown, json: string): string => {
  try {
    through(record([{ name: 'f', type }]), json);
  } catch (error) {
    expect(error).toMatchObject({ name: 'TidemarkError', code: 'NOT_ENCODABLE', class: 'data' });
    return (error as Error).message;
  }
  throw new Error(`${json} was not refused`);
};

const decimal = { type: 'bytes', logicalType: 'decimal', precision: 30, scale: 10 };
const micros = { type: 'long', logicalType: 'timestamp-micros' };

describe('jsonToAvro', () => {
  it('G8: keeps bigint, numeric, microseconds and the numbers inside jsonb', () => {
    expect(field('long', '9223372036854775807')).toBe(2n ** 63n - 1n);
    expect(field('long', '9007199254740993')).toBe(9007199254740993n);
    expect(field(micros, '"2024-05-01T10:30:45.123456+00:00"')).toBe(1_714_559_445_123_456n);
    // 123456789012345678901234567891 in two's complement.
    expect(field(decimal, '12345678901234567890.1234567891')).toEqual(Buffer.from('018ee90ff6c373e0ee4e3f0ad3', 'hex'));
    expect(field('string', '12345678901234567890.1234567891')).toBe('12345678901234567890.1234567891');
    expect(field('string', '{"id": 9007199254740993, "amt": 1.10}')).toBe('{"id":9007199254740993,"amt":1.10}');
  });

  it('reads every int64 from a number and from its text', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        expect(field('long', value.toString())).toBe(value);
        expect(field(['null', 'long'], `"${value}"`)).toBe(value);
      }),
    );
  });

  it('keeps doubles, and what JSON has no number for', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) =>
        Object.is(field('double', Object.is(value, -0) ? '-0' : String(value)), value),
      ),
    );
    expect(field('double', '"NaN"')).toBeNaN();
    expect(field('double', '"-Infinity"')).toBe(Number.NEGATIVE_INFINITY);
    expect(field('float', '1.5')).toBe(1.5);
  });

  it('reads the other kinds in the forms of Postgres', () => {
    expect(field('int', '-2147483648')).toBe(-(2 ** 31));
    expect(field('boolean', 'true')).toBe(true);
    expect(field('bytes', String.raw`"\\x00fFe7"`)).toEqual(Buffer.from('00ffe7', 'hex'));
    expect(field({ type: 'fixed', name: 'F', size: 2 }, String.raw`"\\x0102"`)).toEqual(Buffer.from('0102', 'hex'));
    expect(field({ type: 'enum', name: 'E', symbols: ['a', 'b'] }, '"b"')).toBe('b');
    expect(field({ type: 'array', items: 'long' }, '[1,"2"]')).toEqual([1n, 2n]);
    expect(field({ type: 'map', values: 'string' }, '{"limit":5,"dry":true,"__proto__":"x"}')).toEqual(
      JSON.parse('{"limit":"5","dry":"true","__proto__":"x"}'),
    );
    expect(field({ type: 'int', logicalType: 'date' }, '"2000-02-29"')).toBe(11_016);
    expect(field({ type: 'long', logicalType: 'local-timestamp-micros' }, '"1970-01-01T00:00:01.5"')).toBe(1_500_000n);
    expect(field({ type: 'int', logicalType: 'time-millis' }, '"00:00:01.5"')).toBe(1_500);
    expect(field({ type: 'string', logicalType: 'uuid' }, '"7d444840-9dc0-11d1-b245-5ffdce74fad2"')).toBe(
      '7d444840-9dc0-11d1-b245-5ffdce74fad2',
    );
    expect(field(micros, '17')).toBe(17n);
  });

  it('writes decimals as the unscaled number', () => {
    expect(field({ ...decimal, scale: 2 }, '1.10')).toEqual(Buffer.from([110]));
    expect(
      field({ type: 'fixed', name: 'D', size: 4, logicalType: 'decimal', precision: 9, scale: 2 }, '"-1.1"'),
    ).toEqual(Buffer.from('ffffff92', 'hex'));
  });

  it('fills in defaults and null for what is absent, and ignores columns that the schema does not know', () => {
    const row = record([
      { name: 'id', type: 'long' },
      { name: 'note', type: 'string', default: 'none' },
      { name: 'seen', type: ['null', 'long'], default: null },
      { name: 'gone', type: ['long', 'null'] },
    ]);
    expect(through(row, '{"id":1,"added later":{"x":1}}')).toEqual({ id: 1n, note: 'none', seen: null, gone: null });
  });

  it('takes the branch of the value’s own kind in a union of several', () => {
    const union = ['null', 'string', 'long', { type: 'array', items: 'long' }];
    expect(field(union, '5')).toBe(5n);
    expect(field(union, '"5"')).toBe('5');
    expect(field(union, '[5]')).toEqual([5n]);
    expect(field(union, 'null')).toBeNull();
    // Two branches of one kind: avsc names the branch, because the value alone does not.
    expect(field(['float', 'double'], '1.5')).toEqual({ float: 1.5 });
    expect(field(['int', 'long'], '3000000000')).toBe(3_000_000_000n);
  });

  it.each([
    ['long', '{"f":9223372036854775808}', 'f: expected a whole number of 64 bits, found a number'],
    ['long', '{"f":1.5}', 'f: expected a whole number of 64 bits, found a number'],
    ['int', '{"f":2147483648}', 'f: expected a whole number of 32 bits, found a number'],
    ['long', '{}', 'f: expected a long, found nothing'],
    ['string', '{"f":null}', 'f: expected a string, found null'],
    ['boolean', '{"f":"true"}', 'f: expected a boolean, found a string'],
    ['float', '{"f":1e39}', 'f: expected a float, found a number'],
    ['double', '{"f":1e400}', 'f: expected a double, found a number'],
    ['bytes', '{"f":"abc"}', String.raw`f: expected \x and an even number of hexadecimal digits, found a string`],
    [{ type: 'array', items: 'int' }, '{"f":[1,"x"]}', 'f.1: expected a whole number of 32 bits, found a string'],
    [{ type: 'map', values: 'int' }, '{"f":{"a":true}}', 'f.a: expected a whole number of 32 bits, found a boolean'],
    [['null', 'long'], '{"f":[]}', 'f: expected a whole number of 64 bits, found an array'],
    [['long', 'boolean'], '{"f":{}}', 'f: expected one of long, boolean, found an object'],
    [{ type: 'enum', name: 'E', symbols: ['a', 'b'] }, '{"f":"c"}', 'f: expected one of a, b, found a string'],
    [micros, '{"f":"2024-05-01T10:30:45"}', 'f: expected an ISO instant with a zone'],
    [micros, '{"f":"infinity"}', 'f: expected an ISO instant with a zone'],
    [
      decimal,
      '{"f":0.12345678901}',
      'f: expected a decimal of 30 digits and 10 of them after the point, found a number',
    ],
    [decimal, '{"f":"NaN"}', 'f: expected a decimal'],
    ['long', '[]', 'expected an object (x.Row), found an array'],
    ['long', '{"f":1', 'the text is not JSON'],
  ])('refuses for %j: %s', (type, json, reason) => {
    expect(refusal(type, json)).toContain(`orders-value: ${reason}`);
  });

  it('does not repeat values in what it says', () => {
    expect(refusal('long', '{"f":"geheim"}')).not.toContain('geheim');
  });
});
