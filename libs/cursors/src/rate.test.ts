import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bookingCostUs, boundedWaitUs, decideBooking } from './rate.ts';

const NOW_US = 1_764_446_400_000_000;
const DAY_US = 86_400_000_000;

it('costs whole microseconds, rounded up, and at most a day', () => {
  expect(bookingCostUs({ perSecond: 1_000, records: 250 })).toBe(250_000);
  expect(bookingCostUs({ perSecond: 3, records: 1 })).toBe(333_334);
  expect(bookingCostUs({ perSecond: 1_000, records: 0 })).toBe(0);
  expect(bookingCostUs({ perSecond: 1e-9, records: 100_000 })).toBe(DAY_US);
});

it('bounds the longest wait, whatever is asked for', () => {
  expect([undefined, 250, -5, Number.NaN, Number.POSITIVE_INFINITY].map((ms) => boundedWaitUs(ms))).toEqual([
    DAY_US,
    250_000,
    0,
    0,
    DAY_US,
  ]);
});

it('gives an idle bucket one second of its rate at once, and no more however long it was idle', () => {
  for (const workedOffUs of [undefined, NOW_US - 5_000_000, NOW_US - 1_000_000]) {
    const booked = decideBooking(workedOffUs, { costUs: 700_000, waitUsMax: DAY_US, nowUs: NOW_US });
    expect(booked).toEqual({ waitMs: 0, nextUs: NOW_US - 300_000 });
  }
});

it('rounds a wait up, so that nobody begins early', () => {
  const booked = decideBooking(NOW_US + 1, { costUs: 10, waitUsMax: DAY_US, nowUs: NOW_US });
  expect(booked).toEqual({ waitMs: 1, nextUs: NOW_US + 11 });
});

it('between any two beginnings lies what was booked from one to the other, less one second', () => {
  const booking = fc.record({
    idleUs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3_000_000 })),
    records: fc.integer({ min: 0, max: 5_000 }),
  });
  fc.assert(
    fc.property(
      fc.array(booking, { minLength: 2, maxLength: 30 }),
      fc.double({ min: 0.5, max: 5_000, noNaN: true }),
      (bookings, perSecond) => {
        let nowUs = NOW_US;
        let workedOffUs: number | undefined;
        const begun: { readonly atUs: number; readonly costUs: number }[] = [];
        for (const { idleUs, records } of bookings) {
          nowUs += idleUs;
          const costUs = bookingCostUs({ perSecond, records });
          const { waitMs, nextUs } = decideBooking(workedOffUs, { costUs, waitUsMax: DAY_US, nowUs });
          if (nextUs === undefined) continue;
          workedOffUs = nextUs;
          begun.push({ atUs: nowUs + waitMs * 1_000, costUs });
        }
        for (const [i, first] of begun.entries()) {
          let bookedUs = 0;
          for (const next of begun.slice(i)) {
            // Waits are rounded up to a millisecond, for the first of the two as well.
            expect(next.atUs - first.atUs).toBeGreaterThanOrEqual(bookedUs - 1_000_000 - 1_000);
            bookedUs += next.costUs;
          }
        }
      },
    ),
  );
});
