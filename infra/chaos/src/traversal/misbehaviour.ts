/**
 * Which records a misbehaving handler fails at, and how often. Pure, and the same for the handler and for the judge: it
 * depends only on where the record lies and on the salt of its job.
 */

export const Mode = { slow: 'slow', failing: 'failing', hanging: 'hanging' } as const;
export type Mode = (typeof Mode)[keyof typeof Mode];

/** Every so many records one fails a few times, and one for good. */
const EVERY = {
  slow: undefined,
  failing: { sometimes: 8, always: 40, timesMax: 4 },
  hanging: { sometimes: 25, always: 60, timesMax: 2 },
} as const;

export interface Place {
  readonly salt: number;
  readonly partition: number;
  readonly offset: bigint;
}

/** Attempts of a record that fail: 0, some, or Infinity for one that no attempt will bring through. */
export function failuresOf(mode: Mode, { salt, partition, offset }: Place): number {
  const every = EVERY[mode];
  if (every === undefined) return 0;
  const place = Number(offset % 1_000_000n) + salt + partition;
  if (place % every.always === 0) return Number.POSITIVE_INFINITY;
  return place % every.sometimes === 0 ? 1 + (Math.floor(place / every.sometimes) % every.timesMax) : 0;
}

export function isDoomed(mode: Mode, place: Place): boolean {
  return failuresOf(mode, place) === Number.POSITIVE_INFINITY;
}

export function modeOf(text: string | undefined): Mode | undefined {
  return Object.values(Mode).find((mode) => mode === text);
}
