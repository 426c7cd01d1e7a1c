/** Exact numbers from JSON text: never through a double. */
import { DECIMAL_DIGITS_MAX, EXPONENT_MAX } from './limits.ts';

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * The number times 10^scale, if that is whole: `1.10` at scale 2 is 110n, at scale 1 it is undefined. Undefined also for
 * text that is no JSON number and for numbers beyond every limit.
 */
export function unscaledOf(text: string, scale: number): bigint | undefined {
  const parts = NUMBER.exec(text);
  if (parts === null || text.length > DECIMAL_DIGITS_MAX) return undefined;
  const [, sign, whole = '', fraction = '', exponentText = '0'] = parts;
  const exponent = Number(exponentText);
  if (Math.abs(exponent) > EXPONENT_MAX) return undefined;
  const digits = `${whole}${fraction}`;
  const shift = scale + exponent - fraction.length;
  const unscaled = shift >= 0 ? BigInt(`${digits}${'0'.repeat(shift)}`) : withoutZeros(digits, -shift);
  if (unscaled === undefined) return undefined;
  return sign === '-' ? -unscaled : unscaled;
}

/** A number without a fraction, however it is written: `5`, `5.0`, `5e0`. */
export function wholeNumberOf(text: string): bigint | undefined {
  return unscaledOf(text, 0);
}

/** Drops `count` digits from the end; undefined when one of them is not a zero, because that would round. */
function withoutZeros(digits: string, count: number): bigint | undefined {
  const kept = digits.slice(0, Math.max(0, digits.length - count));
  const dropped = digits.slice(kept.length);
  return /^0*$/.test(dropped) ? BigInt(kept === '' ? '0' : kept) : undefined;
}

/** Avro's decimal: two's complement, big-endian, as short as possible. */
export function bytesOfUnscaled(unscaled: bigint): Buffer {
  let width = 1;
  while (BigInt.asIntN(width * 8, unscaled) !== unscaled) width++;
  return fixedBytesOfUnscaled(unscaled, width) ?? Buffer.alloc(0);
}

/** The same in exactly `width` bytes; undefined when it does not fit. */
export function fixedBytesOfUnscaled(unscaled: bigint, width: number): Buffer | undefined {
  const bits = width * 8;
  if (BigInt.asIntN(bits, unscaled) !== unscaled) return undefined;
  return Buffer.from(
    BigInt.asUintN(bits, unscaled)
      .toString(16)
      .padStart(width * 2, '0'),
    'hex',
  );
}
