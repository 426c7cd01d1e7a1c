import { jsonText } from '@tidemark/contracts';
import { expect, it } from 'vitest';
import { harmlessJson, shownBytes, shownText, shownValue } from './shown-record.ts';

it('D2: null, nothing, the text null, and binary bytes are different things in JSON and in the table', () => {
  const given = [null, Buffer.alloc(0), Buffer.from('null'), Buffer.from([0x00, 0xff, 0xfe])];
  expect(given.map((bytes) => jsonText(shownBytes(bytes)))).toEqual([
    'null',
    '{"text":""}',
    '{"text":"null"}',
    '{"base64":"AP/+"}',
  ]);
  expect(given.map((bytes) => shownText(shownBytes(bytes)))).toEqual(['(null)', '""', '"null"', 'base64:AP/+']);
});

it('hands no control characters to a terminal', () => {
  expect(shownBytes(Buffer.from('\u001b[31mred'))).toEqual({ base64: Buffer.from('\u001b[31mred').toString('base64') });
  expect(shownBytes(Buffer.from('zwei\nZeilen äöü'))).toEqual({ text: 'zwei\nZeilen äöü' });
});

const NO_REGISTRY = {
  decode: () => Promise.reject(new Error('asked for the schema of a value that is not framed')),
} as unknown as Parameters<typeof shownValue>[1];

it('L4: what would move a cursor, break a line or turn a text is escaped, in text, JSON and keys, and means the same', async () => {
  const evil = '\u202e\u2066admin\u200b\u0085\u009b31m\u007f\u2028\u{e0041}';
  const json = `{"a":${JSON.stringify(evil)}}`;
  const shown = await shownValue(Buffer.from(json.replaceAll(/[\u007f-\u009f]/g, '')), NO_REGISTRY);
  for (const text of [harmlessJson(JSON.stringify(evil)), harmlessJson(json), shownText(shown)])
    expect(text).toMatch(/^[\x20-\x7e]+$/);
  expect(JSON.parse(harmlessJson(json))).toEqual({ a: evil });
  expect(shownText({ text: '\u202egpj.exe' })).toBe('"\\u202egpj.exe"');
});

it('shows JSON objects and lists as they are, digit by digit, and all other text as text', async () => {
  const show = async (text: string) => shownText(await shownValue(Buffer.from(text), NO_REGISTRY));
  expect(await show('{"id":9007199254740993,\n "amt":1.10}')).toBe('{"id":9007199254740993,  "amt":1.10}');
  expect(await show('[1]')).toBe('[1]');
  expect(await show('null')).toBe('"null"');
  expect(await show('7')).toBe('"7"');
  expect(await show('{"open":')).toBe('"{\\"open\\":"');
});
