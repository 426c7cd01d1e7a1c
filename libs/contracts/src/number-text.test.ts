import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesOfUnscaled, fixedBytesOfUnscaled, unscaledOf, wholeNumberOf } from './number-text.ts';

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

/** Reads two's complement back, as an Avro decimal is defined. */
const unscaledOfBytes = (bytes: Buffer): bigint =>
  BigInt.asIntN(bytes.length * 8, BigInt(`0x${bytes.toString('hex')}`));

describe('wholeNumberOf', () => {
  it.each([
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -(2n ** 63n)],
    ['5.0', 5n],
    ['5e2', 500n],
    ['5.25e2', 525n],
    ['1500E-2', 15n],
    ['-0', 0n],
    ['0.000', 0n],
  ])('reads %s exactly', (text, value) => {
    expect(wholeNumberOf(text)).toBe(value);
  });

  it.each(['1.5', '1e-1', '15e-2', '', 'NaN', '0x10', ' 1', '1 ', '--1', '1e99999', '.5', '5.'])(
    'does not take %j for a whole number',
    (text) => {
      expect(wholeNumberOf(text)).toBeUndefined();
    },
  );

  it('reads every int64, also with zeros behind the point or an exponent', () => {
    fc.assert(
      fc.property(int64, fc.integer({ min: 0, max: 20 }), (value, zeros) => {
        expect(wholeNumberOf(value.toString())).toBe(value);
        expect(wholeNumberOf(`${value}.${'0'.repeat(zeros + 1)}`)).toBe(value);
        expect(wholeNumberOf(`${value}${'0'.repeat(zeros)}e-${zeros}`)).toBe(value);
      }),
    );
  });
});

describe('unscaledOf', () => {
  it('shifts by the scale and never rounds', () => {
    expect(unscaledOf('1.10', 2)).toBe(110n);
    expect(unscaledOf('1.10', 1)).toBe(11n);
    expect(unscaledOf('1.10', 0)).toBeUndefined();
    expect(unscaledOf('-123456789012345678901234567890.1234567891', 10)).toBe(
      -1234567890123456789012345678901234567891n,
    );
  });
});

describe('the bytes of a decimal', () => {
  it.each([
    [0n, '00'],
    [127n, '7f'],
    [128n, '0080'],
    [-1n, 'ff'],
    [-128n, '80'],
    [-129n, 'ff7f'],
  ])('of %s are the shortest two’s complement', (unscaled, hex) => {
    expect(bytesOfUnscaled(unscaled).toString('hex')).toBe(hex);
  });

  it('read back as the same number', () => {
    fc.assert(fc.property(fc.bigInt(), (unscaled) => unscaledOfBytes(bytesOfUnscaled(unscaled)) === unscaled));
  });

  it('fill a fixed width or are refused', () => {
    expect(fixedBytesOfUnscaled(-2n, 4)?.toString('hex')).toBe('fffffffe');
    expect(fixedBytesOfUnscaled(2n ** 31n, 4)).toBeUndefined();
  });
});
