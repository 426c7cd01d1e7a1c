import { expect, it } from 'vitest';
import { parseConsoleLine } from './console-format.ts';

it('reads bytes, text and null back from a line', () => {
  const record = parseConsoleLine(
    'CreateTime:1795970611816\tOffset:9007199254740993\t<none>\ta\\x5CN\\x00\\xFF',
    '<none>',
  );
  expect(record).toEqual({
    offset: 9_007_199_254_740_993n,
    timestampMs: 1_795_970_611_816n,
    key: null,
    value: Buffer.from([0x61, 0x5c, 0x4e, 0x00, 0xff]),
  });
});

it('tells the text "null" and the empty value from null', () => {
  const record = parseConsoleLine('CreateTime:0\tOffset:0\t\tnull', '<none>');
  expect(record.key).toEqual(Buffer.alloc(0));
  expect(record.value).toEqual(Buffer.from('null'));
});

it('refuses a line that is not a record', () => {
  expect(() => parseConsoleLine('Processed a total of 3 messages', '<none>')).toThrow('unexpected line');
});
