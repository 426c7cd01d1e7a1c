/** Windows and ranges of one partition: `start < offset <= end`. Pure interval algebra. */
import { fromFixedWidth, toFixedWidth } from './fixed-width.ts';
import { type Offset, toOffset } from './offset.ts';

/** What a job covers in one partition: `start` is excluded, `end` included. Empty when `end <= start`. */
export interface Window {
  readonly start: Offset;
  readonly end: Offset;
}

export interface PartitionWindow extends Window {
  readonly partition: number;
}

/** The number of offsets in the window, whether or not a record lives there. */
export function windowSize(window: Window): bigint {
  return window.end > window.start ? window.end - window.start : 0n;
}

export function isEmpty(window: Window): boolean {
  return window.end <= window.start;
}

/**
 * Cuts a window into at most `parts` ranges of nearly equal offset spans. The parts tile the window: the first starts at
 * its start, each next one where the one before ends, the last ends at its end; none is empty unless the window is.
 */
export function splitWindow(window: Window, parts: number): readonly Window[] {
  if (!Number.isInteger(parts) || parts < 1) throw new RangeError(`parts must be a positive integer: ${parts}`);
  const size = windowSize(window);
  if (size === 0n) return [window];
  const count = size < BigInt(parts) ? size : BigInt(parts);
  const ranges: Window[] = [];
  let start = window.start;
  for (let part = 1n; part <= count; part++) {
    const end = toOffset(window.start + (size * part) / count);
    ranges.push({ start, end });
    start = end;
  }
  return ranges;
}

/** True when the ranges, in any order, cover the window without hole or overlap. */
export function tiles(window: Window, ranges: readonly Window[]): boolean {
  const sorted = [...ranges].sort((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : a.end < b.end ? -1 : 1));
  let covered = window.start;
  for (const range of sorted) {
    if (range.start !== covered || range.end < range.start) return false;
    covered = range.end;
  }
  return covered === window.end;
}

/**
 * The highest offset up to which everything from the window's start is settled, given ranges that tile the window.
 * A later range that is done ahead does not count until the hole before it is closed.
 */
export function contiguousPrefix(window: Window, ranges: readonly (Window & { readonly cursor: Offset })[]): Offset {
  let prefix = window.start;
  for (const range of [...ranges].sort((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0))) {
    if (range.start !== prefix) return prefix;
    prefix = range.cursor;
    if (range.cursor < range.end) return prefix;
  }
  return prefix;
}

/** A range is known by the place where it starts; where it ends is where the next one starts. */
export interface RangeRef {
  readonly partition: number;
  readonly start: Offset;
}

/** `done`: the cursor is at the end. `stopped`: it never gets there; a note says why. */
export const RangeStatus = { open: 'open', done: 'done', stopped: 'stopped' } as const;
export type RangeStatus = (typeof RangeStatus)[keyof typeof RangeStatus];

const PARTITION_WIDTH = 10;

/** Text that names a range within its job and sorts by partition, then start. */
export function rangeIdOf(range: RangeRef): string {
  return `${range.partition.toString().padStart(PARTITION_WIDTH, '0')}:${toFixedWidth(range.start)}`;
}

export function rangeOfId(rangeId: string): RangeRef {
  const [partition, start] = rangeId.split(':');
  if (partition === undefined || start === undefined)
    throw new RangeError(`not a range id: ${JSON.stringify(rangeId)}`);
  return { partition: Number(partition), start: fromFixedWidth(start) };
}
