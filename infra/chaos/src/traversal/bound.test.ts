import { describe, expect, it } from 'vitest';
import { repeatBound, uncheckpointedSpan } from './bound.ts';

describe('repeatBound', () => {
  const none = { inHand: [], parkedBatchRecords: 10, sinceCheckpoint: 0 };

  it('is zero without a fault', () => {
    expect(repeatBound(none)).toBe(0);
  });

  it('allows a chunk for every range that was held, and a parked batch where the job parks', () => {
    const inHand = [
      { chunkRecords: 50, mayPark: false },
      { chunkRecords: 40, mayPark: true },
    ];
    expect(repeatBound({ ...none, inHand })).toBe(100);
  });

  it('adds what was handled since the last checkpoint before a loss of the store', () => {
    const inHand = [{ chunkRecords: 50, mayPark: false }];
    expect(repeatBound({ ...none, inHand, sinceCheckpoint: 1_234 })).toBe(1_284);
  });
});

describe('uncheckpointedSpan', () => {
  it('is one checkpoint interval', () => {
    expect(uncheckpointedSpan({ lostAtMs: 10_000, ageMs: 2_000, outages: [] })).toEqual({
      fromMs: 8_000,
      toMs: 10_000,
    });
  });

  it('does not count the time in which no checkpoint could be written', () => {
    const outages = [{ fromMs: 4_000, toMs: 9_000 }];
    // One second after the outage and one before it.
    expect(uncheckpointedSpan({ lostAtMs: 10_000, ageMs: 2_000, outages }).fromMs).toBe(3_000);
  });

  it('knows outages that go on, follow one another, or lie too far back', () => {
    expect(
      uncheckpointedSpan({ lostAtMs: 10_000, ageMs: 2_000, outages: [{ fromMs: 9_500, toMs: 11_000 }] }).fromMs,
    ).toBe(7_500);
    expect(
      uncheckpointedSpan({ lostAtMs: 10_000, ageMs: 2_000, outages: [{ fromMs: 1_000, toMs: 7_000 }] }).fromMs,
    ).toBe(8_000);
    const two = [
      { fromMs: 3_000, toMs: 6_000 },
      { fromMs: 7_000, toMs: 9_000 },
    ];
    // One second, the outage, one second, the other outage: two seconds are used up when the earlier one ended.
    expect(uncheckpointedSpan({ lostAtMs: 10_000, ageMs: 2_000, outages: two }).fromMs).toBe(6_000);
  });
});
