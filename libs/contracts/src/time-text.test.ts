import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dateOf, instantOf, localTimeOf, timeOfDayOf } from './time-text.ts';

describe('instantOf', () => {
  it('keeps all six digits that Postgres prints', () => {
    expect(instantOf('2023-11-14T22:13:20.123456+00:00', 'micros')).toBe(1_700_000_000_123_456n);
    expect(instantOf('2023-11-14T22:13:20.1+00:00', 'micros')).toBe(1_700_000_000_100_000n);
    expect(instantOf('2023-11-14 22:13:20+00', 'micros')).toBe(1_700_000_000_000_000n);
  });

  it('cuts digits below the unit off, before 1970 too', () => {
    expect(instantOf('2023-11-14T22:13:20.123999Z', 'millis')).toBe(1_700_000_000_123n);
    expect(instantOf('1969-12-31T23:59:59.999999Z', 'millis')).toBe(-1n);
    expect(instantOf('2023-11-14T22:13:20.123456789Z', 'nanos')).toBe(1_700_000_000_123_456_789n);
  });

  it('C3: one instant in any zone, half hours and seconds included', () => {
    for (const text of [
      '2023-11-15T03:43:20+05:30',
      '2023-11-14T17:13:20-05:00',
      '2023-11-14T22:32:52+00:19:32',
      '2023-11-14T22:13:20z',
    ]) {
      expect(instantOf(text, 'millis')).toBe(1_700_000_000_000n);
    }
  });

  it('G8: counts years before Christ as Postgres prints them', () => {
    // 1 BC is the astronomical year 0, a leap year; Date knows it as year 0.
    expect(instantOf('0001-02-29T00:00:00+00:00 BC', 'millis')).toBe(
      BigInt(Date.UTC(2000, 1, 29)) - 730_485n * 86_400_000n,
    );
    expect(instantOf('4713-01-01T00:00:00+00:00 BC', 'millis')).toBe(BigInt(Date.parse('-004712-01-01T00:00:00Z')));
    expect(instantOf('294276-12-31T23:59:59.999999+00:00', 'micros')).toBe(9_224_318_015_999_999_999n);
  });

  it.each([
    '2023-11-14T22:13:20',
    'infinity',
    '-infinity',
    '2023-02-29T00:00:00Z',
    '2023-13-01T00:00:00Z',
    '2023-00-01T00:00:00Z',
    '2023-11-14T24:00:01Z',
    '2023-11-14',
    'tomorrow',
    '',
  ])('G8: %j is no instant', (text) => {
    expect(instantOf(text, 'micros')).toBeUndefined();
  });

  it('agrees with Date on every instant that Date knows', () => {
    fc.assert(
      fc.property(
        fc.date({
          min: new Date('0001-01-01T00:00:00Z'),
          max: new Date('9999-12-31T23:59:59.999Z'),
          noInvalidDate: true,
        }),
        (date) => {
          expect(instantOf(date.toISOString(), 'millis')).toBe(BigInt(date.getTime()));
        },
      ),
    );
  });
});

describe('dates and clocks', () => {
  it('count days, local times and times of day', () => {
    expect(dateOf('1970-01-01')).toBe(0);
    expect(dateOf('2000-02-29')).toBe(11_016);
    expect(dateOf('1900-02-29')).toBeUndefined();
    expect(localTimeOf('1970-01-01T00:00:01.5', 'micros')).toBe(1_500_000n);
    expect(localTimeOf('1970-01-01T00:00:01.5Z', 'micros')).toBeUndefined();
    expect(timeOfDayOf('23:59:59.999999', 'micros')).toBe(86_399_999_999n);
    expect(timeOfDayOf('24:00:00', 'micros')).toBeUndefined();
  });
});
