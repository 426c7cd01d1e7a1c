/**
 * A rate that all workers share, as the generic cell rate algorithm keeps it: one number a bucket, the instant at which all
 * that was booked will be worked off. All times are whole microseconds on the store's clock: 2^53 of them are 285 years, so
 * doubles, of which Lua has no others, are exact.
 */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { RATE_CREDIT_US, RATE_WAIT_MS_MAX } from './limits.ts';

const US_PER_MS = 1_000;
const US_PER_SECOND = 1_000_000;
const WAIT_US_MAX = RATE_WAIT_MS_MAX * US_PER_MS;

/** How long the rate takes for so many records; at least one microsecond, and never more than the longest wait. */
export function bookingCostUs(request: { readonly perSecond: number; readonly records: number }): number {
  const { perSecond, records } = request;
  if (!Number.isInteger(records) || records < 0 || !(perSecond > 0))
    throw new TidemarkError({
      code: 'BAD_RATE',
      class: ErrorClass.bug,
      message: `cannot book ${records} records at ${perSecond} a second`,
    });
  return Math.min(Math.ceil((records * US_PER_SECOND) / perSecond), WAIT_US_MAX);
}

export function boundedWaitUs(waitMsMax = RATE_WAIT_MS_MAX): number {
  return Math.max(0, Math.min(Math.floor(waitMsMax * US_PER_MS) || 0, WAIT_US_MAX));
}

/** `workedOffUs` undefined: nobody booked lately. The next one is left out when the booking is not made. */
export function decideBooking(
  workedOffUs: number | undefined,
  request: { readonly costUs: number; readonly waitUsMax: number; readonly nowUs: number },
): { readonly waitMs: number; readonly nextUs?: number } {
  const { costUs, waitUsMax, nowUs } = request;
  const fromUs = Math.max(workedOffUs ?? 0, nowUs - RATE_CREDIT_US);
  const waitUs = Math.max(0, fromUs - nowUs);
  const waitMs = Math.ceil(waitUs / US_PER_MS);
  return waitUs > waitUsMax ? { waitMs } : { waitMs, nextUs: fromUs + costUs };
}
