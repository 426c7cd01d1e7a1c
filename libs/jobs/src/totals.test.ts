import { NO_COUNTS, sumCounters, toOffset } from '@tidemark/keyspace';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LOST_INTERVALS_MAX } from './limits.ts';
import { outcomeOf } from './outcome.ts';
import { identityOf, identityOfJob, progressOf } from './totals.ts';

const range = (start: number, end: number, cursor: number, counters: Partial<typeof NO_COUNTS> = {}) => ({
  partition: 0,
  start: toOffset(start),
  end: toOffset(end),
  cursor: toOffset(cursor),
  counters: { ...NO_COUNTS, ...counters },
  status: 'done' as 'done' | 'stopped' | 'open',
  note: '',
  lost: [] as { first: bigint; last: bigint }[],
  passed: [] as { first: bigint; last: bigint }[],
});

describe('totals', () => {
  it('the identity holds when each offset is in exactly one term', () => {
    const counters = {
      ok: 5n,
      skipped: 1n,
      deadLettered: 1n,
      filtered: 1n,
      markers: 1n,
      compacted: 1n,
      retries: 7n,
      maybeRedelivered: 3n,
    };
    expect(identityOf(range(-1, 9, 9, counters))).toEqual({ kind: 'holds' });
  });

  it('says how many offsets are in no term, or in two', () => {
    expect(identityOf(range(-1, 9, 9, { ok: 8n }))).toMatchObject({ kind: 'broken', missing: 2n });
    const twice = identityOf(range(-1, 9, 9, { ok: 10n, markers: 1n }));
    expect(twice).toMatchObject({ kind: 'broken', missing: -1n });
    expect(twice.kind === 'broken' && twice.terms).toContain('10 offsets, but ok 10');
    expect(identityOfJob([range(-1, 9, 9, { ok: 9n }), range(9, 19, 19, { ok: 11n })])).toEqual({ kind: 'holds' });
  });

  it('A5: nothing to do is 100 %', () => {
    expect(progressOf([])).toEqual({ offsetsTotal: 0n, offsetsDone: 0n, percent: 100 });
    expect(outcomeOf([])).toEqual({ kind: 'completed', reason: 'clean', result: { totals: NO_COUNTS, lost: [] } });
  });

  it('the percentage is always a number from 0 to 100, and 100 only at the end', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(10 ** 9), fc.nat(10 ** 9))), (spans) => {
        const ranges = spans.map(([size, done]) => range(0, size, Math.min(size, done)));
        const { percent, offsetsDone, offsetsTotal } = progressOf(ranges);
        expect(percent >= 0 && percent <= 100).toBe(true);
        expect(percent === 100).toBe(offsetsDone === offsetsTotal);
      }),
    );
    expect(progressOf([range(-1, 2_000_000, 1_999_999)]).percent).toBe(99.9);
  });

  it('sums every term', () => {
    const one = Object.fromEntries(Object.keys(NO_COUNTS).map((term, index) => [term, BigInt(index + 1)]));
    const counters = { ...NO_COUNTS, ...one };
    expect(sumCounters([counters, counters])).toEqual(
      Object.fromEntries(Object.entries(counters).map(([term, count]) => [term, count * 2n])),
    );
    expect(sumCounters([])).toEqual(NO_COUNTS);
  });
});

describe('the outcome of a job', () => {
  it('is clean, dead letters or loss, the worst one named', () => {
    expect(outcomeOf([range(-1, 9, 9, { ok: 10n })]).reason).toBe('clean');
    expect(outcomeOf([range(-1, 9, 9, { ok: 9n, deadLettered: 1n })]).reason).toBe('dead letters');
    expect(outcomeOf([range(-1, 9, 9, { ok: 8n, deadLettered: 1n, lost: 1n })]).reason).toBe('loss');
  });

  it('never calls numbers that do not add up clean', () => {
    expect(outcomeOf([range(-1, 9, 9, { ok: 9n })]).reason).toBe('numbers do not add up');
    // A parked record is not settled, so a range is not done with one, although the identity holds.
    expect(outcomeOf([range(-1, 9, 9, { ok: 9n, parked: 1n })]).reason).toBe('numbers do not add up');
  });

  it('B1: a stopped range makes it unrecoverable with the exact loss, and the others count', () => {
    const stopped = {
      ...range(-1, 99, 19, { ok: 20n }),
      status: 'stopped' as const,
      note: 'offsets lost',
      lost: [{ first: 20n, last: 49n }],
    };
    const outcome = outcomeOf([stopped, { ...range(-1, 9, 9, { ok: 10n }), partition: 1 }]);
    expect(outcome.kind).toBe('broken');
    expect(outcome.reason).toBe('offsets lost in partition 0');
    expect(outcome.result.lost).toEqual([{ partition: 0, first: 20n, last: 49n }]);
    expect(outcome.result.totals).toMatchObject({ ok: 30n, lost: 30n });
  });

  it('B1: what was passed is named, and counted once', () => {
    const skipped = {
      ...range(-1, 99, 99, { ok: 69n, lost: 31n }),
      passed: [
        { first: 5n, last: 5n },
        { first: 20n, last: 49n },
      ],
    };
    const outcome = outcomeOf([skipped]);
    expect(outcome).toMatchObject({ kind: 'completed', reason: 'loss', result: { totals: { ok: 69n, lost: 31n } } });
    expect(outcome.result.lost).toEqual([
      { partition: 0, first: 5n, last: 5n },
      { partition: 0, first: 20n, last: 49n },
    ]);
  });

  it('B1: names intervals by partition and offset, whole where ranges meet or one of them stopped', () => {
    const ranges = [
      { ...range(49, 99, 99, { lost: 10n, ok: 40n }), passed: [{ first: 50n, last: 59n }] },
      { ...range(-1, 9, -1), partition: 1, status: 'stopped' as const, lost: [{ first: 0n, last: 3n }] },
      { ...range(-1, 49, 49, { lost: 30n, ok: 20n }), passed: [{ first: 20n, last: 49n }] },
    ];
    const { totals, lost } = outcomeOf(ranges).result;
    expect(totals.lost).toBe(44n);
    expect(lost).toEqual([
      { partition: 0, first: 20n, last: 59n },
      { partition: 1, first: 0n, last: 3n },
    ]);
  });

  it('names no more intervals than a record holds, and counts them all', () => {
    const passed = Array.from({ length: LOST_INTERVALS_MAX + 5 }, (_, i) => ({
      first: 2n * BigInt(i),
      last: 2n * BigInt(i),
    }));
    const size = passed.length;
    const { totals, lost } = outcomeOf([
      { ...range(-1, 2 * size - 1, 2 * size - 1, { ok: BigInt(size), lost: BigInt(size) }), passed },
    ]).result;
    expect(totals.lost).toBe(BigInt(size));
    expect(lost).toHaveLength(LOST_INTERVALS_MAX);
  });

  it('P10: parked records that are gone are lost, and not parked any more', () => {
    const stopped = {
      ...range(-1, 99, 19, { ok: 15n, parked: 5n }),
      status: 'stopped' as const,
      note: 'OFFSETS_LOST: parked 3-4, 7-7, 20-29',
      lost: [
        { first: 3n, last: 4n },
        { first: 7n, last: 7n },
        { first: 20n, last: 29n },
      ],
    };
    const { totals, lost } = outcomeOf([stopped]).result;
    expect(totals).toMatchObject({ ok: 15n, parked: 2n, lost: 13n });
    expect(lost).toHaveLength(3);
  });
});
