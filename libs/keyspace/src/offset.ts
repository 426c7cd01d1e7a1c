/**
 * Offsets, and the one place where the two conventions meet: a job window is `(start, end]` and a cursor is the last
 * offset that is settled, while Kafka speaks of the *next* offset to read. `nextOffset = cursor + 1`.
 */
declare const offsetBrand: unique symbol;

/** The place of a record in a partition: int64, 0 or more; -1 is "before the first record". */
export type Offset = bigint & { readonly [offsetBrand]: 'Offset' };

const OFFSET_MAX = 2n ** 63n - 1n;

/** Throws a RangeError for anything that Kafka could not have given out (and is not -1). */
export function toOffset(value: bigint | string | number): Offset {
  // BigInt reads an empty text as zero, and hexadecimal.
  if (typeof value === 'string' && !/^-?\d+$/.test(value))
    throw new RangeError(`not an offset: ${JSON.stringify(value)}`);
  const offset = BigInt(value);
  if (offset < -1n || offset > OFFSET_MAX) throw new RangeError(`not an offset: ${value}`);
  return offset as Offset;
}

/** Before the first record of a partition: the start of a window that takes everything. */
export const BEFORE_FIRST = toOffset(-1n);

/** The offset to read next, when everything up to and with `cursor` is settled. */
export function nextOffsetOf(cursor: Offset): Offset {
  return toOffset(cursor + 1n);
}

/** The cursor of a reader whose next offset is `nextOffset`. */
export function cursorBefore(nextOffset: Offset): Offset {
  return toOffset(nextOffset - 1n);
}

export function offsetMin(a: Offset, b: Offset): Offset {
  return a < b ? a : b;
}

export function offsetMax(a: Offset, b: Offset): Offset {
  return a > b ? a : b;
}
