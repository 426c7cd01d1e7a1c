import { jsonText } from '@tidemark/contracts';
import { expect, it } from 'vitest';
import { shownBytes, shownText } from './shown-record.ts';

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
