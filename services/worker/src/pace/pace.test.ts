import { createMemorySchedule } from '@tidemark/cursors/testing';
import { createCountHandler, type RawHandler } from '@tidemark/handlers';
import { describe, expect, it } from 'vitest';
import { HOLD_MS } from '../limits.ts';
import { jobDefinition } from '../testing/job-definition.ts';
import { Pace } from './pace.ts';

const handlerOf = (rate?: number): RawHandler => ({
  ...createCountHandler().handler,
  ...(rate === undefined ? {} : { rate }),
});

describe('Pace', () => {
  it('asks nobody when nothing is limited', () => {
    const nobody = {
      bookRate: () => {
        throw new Error('asked');
      },
    };
    const pace = new Pace(nobody, jobDefinition(), handlerOf());
    expect(pace.book(1_000)).toBeUndefined();
    expect(pace.recordsMax(1_000)).toBe(1_000);
  });

  it('keeps chunks to a quarter of a second of the lower rate, and to one record at least', () => {
    const schedule = createMemorySchedule({ now: () => 0 });
    expect(new Pace(schedule, jobDefinition({ rate: 200 }), handlerOf(100)).recordsMax(1_000)).toBe(25);
    expect(new Pace(schedule, jobDefinition({ rate: 1 }), handlerOf()).recordsMax(1_000)).toBe(1);
    expect(new Pace(schedule, jobDefinition({ rate: 1_000_000 }), handlerOf()).recordsMax(1_000)).toBe(1_000);
  });

  it('lets through what the rate allows, over virtual time', async () => {
    let nowMs = 1_000_000;
    const pace = new Pace(createMemorySchedule({ now: () => nowMs }), jobDefinition({ rate: 100 }), handlerOf());
    const handled: number[] = [];
    const beganMs = nowMs;
    while (nowMs < beganMs + 60_000) {
      const booking = await pace.book(pace.recordsMax(1_000));
      nowMs += booking?.waitMs ?? 0;
      handled.push(pace.recordsMax(1_000));
    }
    const records = handled.reduce((sum, count) => sum + count, 0);
    // A minute at 100 a second, a second of credit at the start, and the last chunk.
    expect(records).toBeGreaterThanOrEqual(6_000);
    expect(records).toBeLessThanOrEqual(6_000 + 100 + 25);
  });

  it('goes as slowly as the slower of the two', async () => {
    let nowMs = 1_000_000;
    const schedule = createMemorySchedule({ now: () => nowMs });
    const pace = new Pace(schedule, jobDefinition({ rate: 1_000 }), handlerOf(100));
    for (let second = 0; second < 30; second++) nowMs += (await pace.book(100))?.waitMs ?? 0;
    // 30 bookings of a second each; the first is paid with credit and the last begins when the others are over.
    expect(nowMs - 1_000_000).toBe(28_000);
  });

  it('books nothing that would be waited for longer than a range is held', async () => {
    const schedule = createMemorySchedule({ now: () => 1_000_000 });
    const pace = new Pace(schedule, jobDefinition({ rate: 1 }), handlerOf());
    const waits: number[] = [];
    for (let place = 0; place < 20; place++) {
      const booking = await pace.book(1);
      if (booking?.kind === 'booked') waits.push(booking.waitMs);
      else expect(booking?.waitMs).toBe(HOLD_MS + 1_000);
    }
    expect(waits).toEqual([0, 0, ...Array.from({ length: 10 }, (_, second) => (second + 1) * 1_000)]);
  });
});
