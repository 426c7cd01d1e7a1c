import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dueAfterSetBack, nextDueMs, type Schedule, scheduleFaults } from './series-schedule.ts';
import { sampleDefinition, sampleSeries } from './testing/index.ts';

const cron = (text: string, zone = 'UTC'): Schedule => ({ cron: text, zone, everyMs: 0n });
const every = (everyMs: bigint): Schedule => ({ cron: '', zone: 'UTC', everyMs });
const ms = (text: string): bigint => BigInt(Date.parse(text));
const dueAfter = (schedule: Schedule, text: string): string =>
  new Date(Number(nextDueMs(schedule, { afterMs: ms(text), anchorMs: 0n }))).toISOString();

/** What is due from one instant up to another, asked for again from each of them. */
function dueBetween(schedule: Schedule, from: string, to: string): readonly string[] {
  const due: string[] = [];
  for (let at = dueAfter(schedule, from); at < to; at = dueAfter(schedule, at)) due.push(at.slice(5, 16));
  return due;
}

describe('cron', () => {
  it('is strictly after the given instant', () => {
    expect(dueAfter(cron('*/5 * * * *'), '2026-03-01T10:00:00Z')).toBe('2026-03-01T10:05:00.000Z');
    expect(dueAfter(cron('*/5 * * * *'), '2026-03-01T10:04:59.999Z')).toBe('2026-03-01T10:05:00.000Z');
    expect(dueAfter(cron('0 6 * * mon', 'Europe/Berlin'), '2026-03-01T10:00:00Z')).toBe('2026-03-02T05:00:00.000Z');
  });

  it('an hour that the change of clocks skips comes once, right after it', () => {
    expect(dueBetween(cron('30 2 * * *', 'Europe/Berlin'), '2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z')).toEqual([
      '03-29T01:00',
      '03-30T00:30',
    ]);
  });

  it('an hour that the change of clocks repeats comes once, from wherever it is asked', () => {
    const nightly = cron('30 2 * * *', 'Europe/Berlin');
    expect(dueBetween(nightly, '2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z')).toEqual(['10-25T00:30', '10-26T01:30']);
    const answers = new Set<string>();
    for (let minute = 0n; minute < 24n * 60n; minute++)
      answers.add(
        new Date(
          Number(nextDueMs(nightly, { afterMs: ms('2026-10-24T12:00:00Z') + minute * 60_000n, anchorMs: 0n })),
        ).toISOString(),
      );
    expect([...answers]).toEqual(['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z']);
  });

  it('a period goes on through both', () => {
    const half = cron('*/30 * * * *', 'Europe/Berlin');
    expect(dueBetween(half, '2026-10-25T00:00:00Z', '2026-10-25T02:31:00Z')).toHaveLength(5);
    expect(dueBetween(half, '2026-03-29T00:00:00Z', '2026-03-29T02:31:00Z')).toHaveLength(5);
  });

  it.each([
    ['61 * * * *', 'UTC', [/^cron field 1 \(minute\) "61": Invalid value for minute: 61/]],
    ['0 25 * 13 *', 'UTC', [/^cron field 2 \(hour\) "25"/, /^cron field 4 \(month\) "13"/]],
    ['0 0 * * fry', 'UTC', [/^cron field 5 \(day of week\) "fry"/]],
    ['* * * *', 'UTC', [/has 4 fields, expected 5: minute, hour, day of month/]],
    ['0 * * * * *', 'UTC', [/has 6 fields, expected 5/]],
    ['@daily', 'UTC', [/has 1 fields/]],
    ['0 0 31 2 *', 'UTC', [/never comes/]],
    ['0 0 * * *', 'Mars/Base', [/^zone "Mars\/Base" is not a time zone/]],
    ['x * * * *', '', [/^zone ""/, /^cron field 1 \(minute\) "x"/]],
  ])('%s in %s is refused with the place', (text, zone, faults) => {
    expect(scheduleFaults(cron(text, zone))).toEqual(faults.map((fault) => expect.stringMatching(fault)));
  });

  it('a good one has no fault', () => {
    expect(scheduleFaults(cron('*/5 8-18 * jan-mar mon-fri', 'Europe/Berlin'))).toEqual([]);
  });
});

describe('every', () => {
  it('is the next whole number of periods from the anchor, and missed ones are one', () => {
    fc.assert(
      fc.property(
        fc.bigInt(1_000n, 10_000n),
        fc.bigInt(0n, 10_000_000n),
        fc.bigInt(0n, 1_000n),
        (everyMs, passed, a) => {
          const due = nextDueMs(every(everyMs), { afterMs: a + passed, anchorMs: a });
          expect(due > a + passed && due <= a + passed + everyMs).toBe(true);
          expect((due - a) % everyMs).toBe(0n);
        },
      ),
    );
  });

  it('counts from an anchor that lies ahead, too: the clock was set back', () => {
    expect(nextDueMs(every(10_000n), { afterMs: 1_000n, anchorMs: 100_007n })).toBe(10_007n);
    expect(nextDueMs(every(10_000n), { afterMs: 10_007n, anchorMs: 100_007n })).toBe(20_007n);
  });

  it('is not shorter than a second, and excludes cron', () => {
    expect(scheduleFaults(every(1_000n))).toEqual([]);
    expect(scheduleFaults(every(999n))).toEqual([expect.stringContaining('999 ms is not between 1000 and')]);
    expect(scheduleFaults(every(0n))).toHaveLength(1);
    expect(scheduleFaults({ ...cron('* * * * *'), everyMs: 5_000n })).toEqual(['cron and every exclude each other']);
  });
});

describe('a clock that was set back', () => {
  const definition = sampleDefinition({ cron: '', everyMs: 3_600_000n });
  const ahead = ms('2026-03-01T10:00:00Z');
  const now = ms('2026-01-01T00:00:00Z');
  const state = sampleSeries({ definition, createdAtMs: 0n, updatedAtMs: ahead, dueAtMs: ahead + 3_600_000n });

  it('makes a series due at the first instant after now', () => {
    expect(dueAfterSetBack(state, now)).toBe(now + 3_600_000n);
    expect(dueAfterSetBack({ ...state, createdAtMs: ahead }, now)).toBe(now + 3_600_000n);
  });

  it('and what was due already is due now', () => {
    expect(dueAfterSetBack({ ...state, dueAtMs: ahead }, now)).toBe(now);
  });

  it('changes nothing by a little, or where the series comes no later by it', () => {
    expect(dueAfterSetBack(state, ahead - 60_000n)).toBeUndefined();
    expect(dueAfterSetBack({ ...state, dueAtMs: now - 1n }, now)).toBeUndefined();
    expect(dueAfterSetBack({ ...state, dueAtMs: ahead + 3_600_000n }, ahead + 1n)).toBeUndefined();
  });
});
