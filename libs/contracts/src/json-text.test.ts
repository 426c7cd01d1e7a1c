import { expect, it } from 'vitest';
import { decodedText, jsonText, RawJson } from './json-text.ts';
import { SchemaName } from './ports.ts';

it('writes 64-bit numbers as strings, all digits', () => {
  expect(jsonText({ offset: 9_007_199_254_740_993n, partition: 1 })).toBe(
    '{"offset":"9007199254740993","partition":1}',
  );
});

it('takes over JSON that is text already, without a number passing through JavaScript', () => {
  expect(jsonText({ value: new RawJson('{"id": 9007199254740993, "amt": 1.10}') })).toBe(
    '{"value":{"id": 9007199254740993, "amt": 1.10}}',
  );
});

it('agrees with JSON.stringify on everything else', () => {
  const value = {
    text: 'ä"\n',
    list: [1, null, undefined, { nested: true }],
    nothing: undefined,
    empty: {},
    list2: [],
  };
  expect(jsonText(value)).toBe(JSON.stringify(value));
  expect(jsonText(undefined)).toBe('null');
});

it('writes a decoded value, and gives JSON that was text before as that text', () => {
  const json = '{"id": 9007199254740993}';
  expect(decodedText({ schema: SchemaName.jsonValue, value: { json } })).toBe(json);
  expect(decodedText({ schema: 'shop.Order', value: { id: 9_007_199_254_740_993n, raw: Buffer.from([0, 255]) } })).toBe(
    '{"id":"9007199254740993","raw":{"base64":"AP8="}}',
  );
});
