/** Waits for the rate with the lease in hand. */
import { waitingNote } from '@tidemark/jobs';
import type { Clock } from '../clock.ts';
import type { Pace } from '../pace/pace.ts';
import type { RangeEnding } from './ending.ts';
import type { Waits } from './waits.ts';

/** Undefined: so many records may be handled now. */
export async function awaitPace(
  records: number,
  { pace, waits, clock }: { readonly pace: Pace; readonly waits: Waits; readonly clock: Clock },
): Promise<RangeEnding | undefined> {
  const booking = await pace.book(records);
  if (booking === undefined) return undefined;
  const note = waitingNote.rate;
  if (booking.kind === 'too long') return await waits.release(note, { delayMs: Math.ceil(booking.waitMs), note });
  const readyAtMs = clock.now().monotonicMs + booking.waitMs;
  for (let leftMs = booking.waitMs; leftMs > 0; leftMs = readyAtMs - clock.now().monotonicMs) {
    const ending = await waits.hold({ note, pauseMs: leftMs, releaseMs: Math.ceil(leftMs) });
    if (ending !== undefined) return ending;
  }
  waits.moved();
  return undefined;
}
