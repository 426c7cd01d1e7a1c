import { expect, it } from 'vitest';
import { lsnValue } from './lsn.ts';

it('orders places across the 4 GiB boundary, where the texts do not sort', () => {
  expect(lsnValue('1/0')).toBe(0x1_0000_0000n);
  expect(lsnValue('1/0') > lsnValue('0/FFFFFFFF')).toBe(true);
  expect(lsnValue('FFFFFFFF/FFFFFFFF')).toBe(2n ** 64n - 1n);
});

it.each(['', '1', '1/', '/1', '1/G', '123456789/0'])('refuses %j', (text) => {
  expect(() => lsnValue(text)).toThrow(RangeError);
});
