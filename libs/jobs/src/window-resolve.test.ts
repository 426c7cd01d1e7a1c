import { type Offset, toOffset, windowSize } from '@tidemark/keyspace';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { samplePin, sampleRequest, sampleState } from './testing/index.ts';
import { parseWindow, type WindowSpec } from './window-grammar.ts';
import { lookupsOf, type PartitionFacts, resolveWindow, type WindowFacts } from './window-resolve.ts';

function spec(from: string, to = 'now'): WindowSpec {
  const answer = parseWindow({ from, to });
  if (answer.kind === 'refused') throw new Error(answer.reasons.join('; '));
  return answer.spec;
}

function partition(number: number, logStart: bigint, highWatermark: bigint, firstAtFrom?: bigint): PartitionFacts {
  return {
    partition: number,
    logStartOffset: toOffset(logStart),
    highWatermark: toOffset(highWatermark),
    firstAtFrom: firstAtFrom === undefined ? undefined : toOffset(firstAtFrom),
  };
}

function facts(partitions: readonly PartitionFacts[], more: Partial<WindowFacts> = {}): WindowFacts {
  return { topic: 'orders', topicId: 'topic-id-1', partitions, onLost: 'stop', ...more };
}

/** `[start, end]` per partition, or the code of the refusal. */
function windows(window: WindowSpec, given: WindowFacts): unknown {
  const answer = resolveWindow(window, given);
  return answer.kind === 'refused'
    ? answer.code
    : answer.partitions.map((resolved) => [resolved.partition, resolved.start, resolved.end]);
}

function clamps(window: WindowSpec, given: WindowFacts): readonly string[] {
  const answer = resolveWindow(window, given);
  return answer.kind === 'refused' ? [answer.reason] : answer.partitions.map(({ clamped }) => clamped);
}

const FOUR = facts([partition(0, 0n, 2n), partition(1, 0n, 0n), partition(2, 0n, 0n), partition(3, 0n, 0n)]);

describe('resolving a window', () => {
  it('covers everything from the log start to the last offset before the high watermark', () => {
    expect(windows(spec('earliest'), facts([partition(0, 0n, 100n), partition(1, 50n, 60n)]))).toEqual([
      [0, -1n, 99n],
      [1, 49n, 59n],
    ]);
  });

  it('A5: empty partitions are empty windows, and an end beyond the log is clamped and said', () => {
    expect(windows(spec('earliest'), FOUR)).toEqual([
      [0, -1n, 1n],
      [1, -1n, -1n],
      [2, -1n, -1n],
      [3, -1n, -1n],
    ]);
    const replay = spec('0:0,1:0,2:0,3:0', '0:2,1:2,2:2,3:2');
    expect(windows(replay, FOUR)).toEqual([
      [0, -1n, 1n],
      [1, -1n, -1n],
      [2, -1n, -1n],
      [3, -1n, -1n],
    ]);
    expect(clamps(replay, FOUR)[0]).toBe('end 2 is beyond the log, which ends at 1');
  });

  it('takes first and last offsets inclusively, and only the partitions that are named', () => {
    const given = facts([partition(0, 0n, 100n), partition(1, 0n, 100n)]);
    expect(windows(spec('0:4', '0:7'), given)).toEqual([[0, 3n, 7n]]);
    expect(windows(spec('earliest', '1:7'), given)).toEqual([[1, -1n, 7n]]);
    expect(windows(spec('1:7'), given)).toEqual([[1, 6n, 99n]]);
    expect(windows(spec('2:7'), given)).toBe('UNKNOWN_PARTITION');
  });

  it('says what was removed, and what is beyond the log, and makes empty windows of it', () => {
    const given = facts([partition(0, 50n, 100n)]);
    expect(windows(spec('0:10', '0:60'), given)).toEqual([[0, 49n, 60n]]);
    expect(clamps(spec('0:10', '0:60'), given)).toEqual(['start 10 was removed, the log starts at 50']);
    expect(windows(spec('0:10', '0:20'), given)).toEqual([[0, 49n, 49n]]);
    expect(windows(spec('0:500'), given)).toEqual([[0, 99n, 99n]]);
    expect(clamps(spec('0:500'), given)).toEqual(['start 500 is beyond the log, which ends at 99']);
    expect(windows(spec('0:100'), given)).toEqual([[0, 99n, 99n]]);
  });

  it('C1: a start after the last record is an empty window, and -1 never becomes a cursor', () => {
    const nothingLater = facts([partition(0, 0n, 10n), partition(1, 0n, 0n)]);
    expect(windows(spec('1700003600000', '1700007200000'), nothingLater)).toEqual([
      [0, 9n, 9n],
      [1, -1n, -1n],
    ]);
    const earlier = facts([partition(0, 0n, 10n, 0n), partition(1, 0n, 0n)]);
    expect(windows(spec('1699996400000', '1700000004500'), earlier)).toEqual([
      [0, -1n, 9n],
      [1, -1n, -1n],
    ]);
  });

  it('ignores a record that came after the high watermark was read', () => {
    expect(windows(spec('1700003600000'), facts([partition(0, 0n, 10n, 12n)]))).toEqual([[0, 9n, 9n]]);
  });

  it('refuses an end before a start that only the log knows', () => {
    expect(windows(spec('now', '0:3'), facts([partition(0, 0n, 10n)]))).toBe('END_BEFORE_START');
  });
});

describe('a window after a former job', () => {
  const previous = sampleState({
    state: 'COMPLETED',
    request: sampleRequest({ jobId: 'one' }),
    pin: samplePin([
      [-1n, 49n],
      [-1n, 49n],
    ]),
  });

  it('B4: starts at its ends, and at the beginning of partitions that came later', () => {
    const given = facts([partition(0, 0n, 50n), partition(1, 0n, 55n), partition(2, 0n, 10n), partition(3, 0n, 10n)], {
      previous,
    });
    expect(windows(spec('after:one'), given)).toEqual([
      [0, 49n, 49n],
      [1, 49n, 54n],
      [2, -1n, 9n],
      [3, -1n, 9n],
    ]);
    expect(clamps(spec('after:one'), given)[2]).toContain('did not cover this partition');
  });

  it('needs that job to be known, completed, and about this topic', () => {
    const partitions = [partition(0, 0n, 50n), partition(1, 0n, 50n)];
    const after = spec('after:one');
    expect(windows(after, facts(partitions))).toBe('AFTER_UNKNOWN_JOB');
    const running = facts(partitions, { previous: { ...previous, state: 'SUSPENDED', reason: 'budget' } });
    expect(windows(after, running)).toBe('AFTER_UNFINISHED_JOB');
    expect(clamps(after, running)[0]).toMatch(/is SUSPENDED \(budget\); .* wait for that, or name the offset/);
    const cancelled = facts(partitions, { previous: { ...previous, state: 'CANCELLED' } });
    expect(windows(after, cancelled)).toBe('AFTER_UNFINISHED_JOB');
    expect(clamps(after, cancelled)[0]).toMatch(/is CANCELLED; .* COMPLETED one: name the offset or the instant/);
    expect(windows(after, facts(partitions, { previous, topic: 'other' }))).toBe('AFTER_OTHER_TOPIC');
    expect(windows(after, facts(partitions, { previous, topicId: 'new' }))).toBe('AFTER_OTHER_TOPIC');
  });

  it('refuses a gap unless loss may be skipped, and a log that went back always', () => {
    const cut = [partition(0, 60n, 100n), partition(1, 0n, 50n)];
    expect(windows(spec('after:one'), facts(cut, { previous }))).toBe('RECORDS_GONE');
    expect(windows(spec('after:one'), facts(cut, { previous, onLost: 'skip' }))).toEqual([
      [0, 59n, 99n],
      [1, 49n, 49n],
    ]);
    const shorter = [partition(0, 0n, 40n), partition(1, 0n, 50n)];
    expect(windows(spec('after:one'), facts(shorter, { previous, onLost: 'skip' }))).toBe('LOG_WENT_BACK');
  });
});

/** How much older a record is than one before it, at most. */
function disorderOf(timestamps: readonly number[]): number {
  let newest = Number.NEGATIVE_INFINITY;
  let most = 0;
  for (const at of timestamps) {
    most = Math.max(most, newest - at);
    newest = Math.max(newest, at);
  }
  return most;
}

/** A log as `timestamps[i]` of offset `logStart + i`, in any order of time. */
const logs = fc.record({
  logStart: fc.nat(50),
  timestamps: fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 20 }),
});
const T0 = 1_700_000_000_000;

describe('properties', () => {
  it('every window lies inside the log, whatever is asked', () => {
    const offsets = fc.nat(120).map((offset) => `0:${offset}`);
    fc.assert(
      fc.property(
        fc.oneof(offsets, fc.constantFrom('earliest', 'now')),
        fc.oneof(offsets, fc.constant('now')),
        fc.nat(60),
        fc.nat(60),
        (from, to, logStart, size) => {
          const parsed = parseWindow({ from, to });
          fc.pre(parsed.kind === 'window');
          const given = partition(0, BigInt(logStart), BigInt(logStart + size));
          const answer = resolveWindow(parsed.spec, facts([given]));
          fc.pre(answer.kind === 'resolved');
          for (const { start, end } of answer.partitions) {
            expect(start).toBeGreaterThanOrEqual(given.logStartOffset - 1n);
            expect(end).toBeLessThan(given.highWatermark);
            expect(end).toBeGreaterThanOrEqual(start);
          }
        },
      ),
    );
  });

  it('a window by time, filtered by record, selects exactly the records of [from, to), in any order of timestamps', () => {
    fc.assert(
      fc.property(logs, fc.nat(20), fc.nat(20), ({ logStart, timestamps }, a, b) => {
        const [fromMs, toMs] = [T0 + Math.min(a, b), T0 + Math.max(a, b)];
        const records = timestamps.map((at, index) => ({ offset: toOffset(logStart + index), ms: T0 + at }));
        const first = records.find(({ ms }) => ms >= fromMs);
        const highWatermark = BigInt(logStart + timestamps.length);
        const given = partition(0, BigInt(logStart), highWatermark, first?.offset);
        const answer = resolveWindow(spec(String(fromMs), String(toMs)), facts([given]));
        if (answer.kind === 'refused') throw new Error(answer.reason);
        const [window] = answer.partitions;
        const inTime = (ms: number): boolean => ms >= fromMs && ms < toMs;
        const inWindow = (offset: Offset): boolean =>
          window !== undefined && offset > window.start && offset <= window.end;
        const selected = records.filter(({ offset, ms }) => inWindow(offset) && inTime(ms));
        expect(selected).toEqual(records.filter(({ ms }) => inTime(ms)));
      }),
    );
  });

  it('with a disorder bound that holds, a window by time ends early and selects the same records', () => {
    let shorter = 0;
    fc.assert(
      fc.property(logs, fc.nat(20), fc.nat(20), fc.nat(3), ({ logStart, timestamps }, a, b, slack) => {
        const [fromMs, toMs] = [T0 + Math.min(a, b), T0 + Math.max(a, b)];
        const records = timestamps.map((at, index) => ({ offset: toOffset(logStart + index), ms: T0 + at }));
        const disorderMs = slack + disorderOf(timestamps);
        const first = records.find(({ ms }) => ms >= fromMs);
        const beyond = records.find(({ ms }) => ms >= toMs + disorderMs);
        const highWatermark = BigInt(logStart + timestamps.length);
        const given = { ...partition(0, BigInt(logStart), highWatermark, first?.offset), firstBeyond: beyond?.offset };
        const parsed = parseWindow({ from: String(fromMs), to: String(toMs), disorderMs: BigInt(disorderMs) });
        if (parsed.kind === 'refused') throw new Error(parsed.reasons.join());
        expect(lookupsOf(parsed.spec)).toEqual({ fromMs: BigInt(fromMs), beyondMs: BigInt(toMs + disorderMs) });
        const answer = resolveWindow(parsed.spec, facts([given]));
        if (answer.kind === 'refused') throw new Error(answer.reason);
        const [window] = answer.partitions;
        const isIn = (offset: Offset): boolean => window !== undefined && offset > window.start && offset <= window.end;
        const inTime = records.filter(({ ms }) => ms >= fromMs && ms < toMs);
        expect(records.filter(({ offset }) => isIn(offset)).filter((record) => inTime.includes(record))).toEqual(
          inTime,
        );
        if (window !== undefined && window.end < highWatermark - 1n) shorter += 1;
      }),
      { seed: 7 },
    );
    expect(shorter).toBeGreaterThan(10); // Else it proved nothing.
  });

  it('two windows, the second after the first, neither overlap nor leave a gap', () => {
    fc.assert(
      fc.property(fc.nat(50), fc.nat(50), fc.nat(50), (logStart, size, growth) => {
        const first = partition(0, BigInt(logStart), BigInt(logStart + size));
        const one = resolveWindow(spec('earliest'), facts([first]));
        if (one.kind === 'refused') throw new Error(one.reason);
        const [window] = one.partitions;
        if (window === undefined) throw new Error('no window');
        const previous = sampleState({ state: 'COMPLETED', pin: samplePin([[window.start, window.end]]) });
        const later = { ...first, highWatermark: toOffset(first.highWatermark + BigInt(growth)) };
        const two = resolveWindow(spec('after:job-1'), facts([later], { previous }));
        if (two.kind === 'refused') throw new Error(two.reason);
        expect(two.partitions[0]?.start).toBe(window.end);
        expect(two.partitions.reduce((sum, next) => sum + windowSize(next), windowSize(window))).toBe(
          BigInt(size + growth),
        );
      }),
    );
  });
});
