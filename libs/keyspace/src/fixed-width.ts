/**
 * Offsets as text that sorts like the number. Lua has no int64, so the store compares offsets as strings: 20 characters,
 * zero-padded. -1 is written as `-0000000000000000001`, which sorts below every digit string because `-` < `0` in ASCII.
 */
import { type Offset, toOffset } from './offset.ts';

export const FIXED_WIDTH = 20;

export function toFixedWidth(offset: Offset): string {
  return offset < 0n
    ? `-${(-offset).toString().padStart(FIXED_WIDTH - 1, '0')}`
    : offset.toString().padStart(FIXED_WIDTH, '0');
}

/** Throws a RangeError when the text is not exactly what `toFixedWidth` writes. */
export function fromFixedWidth(text: string): Offset {
  if (!/^(\d{20}|-0{18}1)$/.test(text)) throw new RangeError(`not a fixed-width offset: ${JSON.stringify(text)}`);
  return toOffset(BigInt(text));
}
