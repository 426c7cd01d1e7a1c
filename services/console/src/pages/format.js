// @ts-check
/** Numbers and times as people read them. What nobody knows is a dash, never a zero and never NaN. */

export const UNKNOWN = '–';

/** Digits in groups of three, exact at any size. @param {string | number | bigint | null | undefined} value */
export function count(value) {
  if (value === null || value === undefined || value === '') return UNKNOWN;
  if (typeof value === 'number') return Number.isFinite(value) ? Math.round(value).toLocaleString('en-US') : UNKNOWN;
  return BigInt(value).toLocaleString('en-US');
}

/** A figure of which parts may be unknown. @param {string | number | null} value @param {boolean} isAtLeast */
export function countAtLeast(value, isAtLeast) {
  return isAtLeast && value !== null ? `at least ${count(value)}` : count(value);
}

/** @param {number | null} value @param {boolean} isAtLeast */
export function durationAtLeast(value, isAtLeast) {
  return isAtLeast && value !== null ? `at least ${duration(value)}` : duration(value);
}

/** A cursor: the last settled offset, which is -1 before the first record. @param {string | null | undefined} value */
export function place(value) {
  return value === '-1' ? 'none yet' : count(value);
}

/** `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`. @param {number | null | undefined} value */
export function duration(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
  if (value < 0.05) return '0 s';
  if (value < 9.95) return `${value.toFixed(1).replace(/\.0$/, '')} s`;
  const seconds = Math.round(value);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return pair(minutes, 'min', seconds % 60, 's');
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return pair(hours, 'h', minutes % 60, 'min');
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

/** @param {number} large @param {string} largeUnit @param {number} small @param {string} smallUnit */
function pair(large, largeUnit, small, smallUnit) {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** @param {number | null | undefined} value */
export function rate(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
  return `${value < 10 ? value.toFixed(1).replace(/\.0$/, '') : count(value)}/s`;
}

/** Rounded down: 99.99 % is not done. @param {number | null | undefined} value */
export function percent(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
  return `${(Math.floor(value * 10) / 10).toString()} %`;
}

/** `2026-11-29 17:20:03 UTC`. @param {string | null | undefined} value An ISO instant in UTC. */
export function instant(value) {
  if (!value) return UNKNOWN;
  return `${value.slice(0, 10)} ${value.slice(11, 19)} UTC`;
}

/** The share of a part in a whole, in percent with two decimals. @param {bigint} part @param {bigint} whole */
export function portion(part, whole) {
  if (whole <= 0n || part <= 0n) return 0;
  if (part >= whole) return 100;
  return Number((part * 10_000n) / whole) / 100;
}

/** One word of a command line, whatever is in it. @param {string} text */
export function shellWord(text) {
  return /^[\w.:@%+=,/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Bytes as people read sizes. @param {number} value */
export function size(value) {
  if (value < 1_024) return amount(value, 'byte');
  const units = ['KiB', 'MiB', 'GiB'];
  const power = Math.min(units.length, Math.floor(Math.log2(value) / 10));
  return `${(value / 1_024 ** power).toFixed(1).replace(/\.0$/, '')} ${units[power - 1]}`;
}

/** @param {number} amount @param {string} one @param {string} [many] */
export function amount(amount, one, many = `${one}s`) {
  return `${count(amount)} ${amount === 1 ? one : many}`;
}
