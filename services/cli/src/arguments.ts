/** What options are parsed with; commander adds the option's name to the message. */
import { InvalidArgumentError } from 'commander';

export function wholeNumber({
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
} = {}): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= min && value <= max) return value;
    const atLeast = min > Number.MIN_SAFE_INTEGER ? ` from ${min}` : '';
    const atMost = max < Number.MAX_SAFE_INTEGER ? ` up to ${max}` : '';
    throw new InvalidArgumentError(`It must be a whole number${atLeast}${atMost}.`);
  };
}

/** For fields that are 32 bits in the stored format. */
export function int32({ min }: { readonly min: number }): (text: string) => number {
  return wholeNumber({ min, max: 2 ** 31 - 1 });
}

/** For fields of 64 bits; beyond what a number holds exactly nobody counts by hand. */
export function count(text: string): bigint {
  return BigInt(wholeNumber({ min: 0 })(text));
}

/** In milliseconds. */
export function seconds(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value * 1_000;
  throw new InvalidArgumentError('It must be a number of seconds.');
}

const UNITS_MS: Readonly<Record<string, bigint>> = { s: 1_000n, m: 60_000n, h: 3_600_000n, d: 86_400_000n };

/** `30s`, `10m`, `6h`, `1d` in milliseconds. */
export function period(text: string): bigint {
  const [, number = '', unit = ''] = /^([1-9]\d{0,8})([smhd])$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  if (unitMs === undefined) throw new InvalidArgumentError('It must be a whole number and s, m, h or d, such as 10m.');
  return BigInt(number) * unitMs;
}

/** `600`, `30s`, `10m`, `6h`, `1d` in milliseconds; a bare number is seconds, and 0 may be. */
export function secondsOrPeriod(text: string): bigint {
  if (/^\d{1,12}$/.test(text)) return BigInt(text) * 1_000n;
  try {
    return period(text);
  } catch {
    throw new InvalidArgumentError('It must be seconds, or a whole number and s, m, h or d, such as 10m.');
  }
}

/** Of a record. */
export interface Place {
  readonly partition: number;
  readonly offset: bigint;
}

/** `PARTITION:OFFSET`. */
export function recordPlace(text: string): Place {
  const [, partition, offset] = /^(\d{1,9}):(\d{1,18})$/.exec(text) ?? [];
  if (partition === undefined || offset === undefined) throw new InvalidArgumentError('It must be PARTITION:OFFSET.');
  return { partition: Number(partition), offset: BigInt(offset) };
}
