import { NO_COUNTS, toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { Settlement } from '../run/settlement.ts';
import { ParkedBatch } from './parked-batch.ts';
import type { ParkedEntry } from './parked-set.ts';

const entry = (offset: number, fields: Partial<ParkedEntry> = {}): ParkedEntry => ({
  offset: toOffset(offset),
  attempt: 3,
  faultClass: 'transient',
  keyHash: '',
  dueMs: 0,
  stored: true,
  ...fields,
});

const batchOf = (entries: readonly ParkedEntry[], attempts = 5): ParkedBatch =>
  new ParkedBatch({ job: { attempts }, entries, random: () => 0 });

describe('ParkedBatch', () => {
  it('says in one step how records ended and which wait again, for longer', () => {
    const batch = batchOf([entry(3), entry(4, { attempt: 4 }), entry(9), entry(12, { attempt: 0 })]);
    batch.settle(0, Settlement.ok);
    batch.settle(3, Settlement.skipped);
    batch.settle(2, Settlement.deadLettered);
    expect(batch.putOff(1, { attempt: 4, faultClass: 'timeout' })).toBe('put aside');
    expect(batch.step()).toEqual({
      passed: [],
      settled: [3n, 12n, 9n],
      again: [{ offset: 4n, attempt: 4, faultClass: 'timeout', keyHash: '', delayMs: 1_000 }],
      // The record that was queued had its first attempt now.
      add: { ...NO_COUNTS, parked: -3n, ok: 1n, skipped: 1n, deadLettered: 1n, retries: 3n },
    });
    expect(batch.openIndexes()).toEqual([]);
  });

  it('has nothing to say of what was not tried', () => {
    const batch = batchOf([entry(3), entry(4)]);
    expect(batch.step()).toBeUndefined();
    batch.settle(1, Settlement.ok);
    expect(batch.step()).toMatchObject({ settled: [4n], again: [] });
    expect(batch.openIndexes()).toEqual([0]);
  });

  it('tries no later record of a key that failed again', () => {
    const batch = batchOf([
      entry(3, { keyHash: 'a' }),
      entry(4, { keyHash: 'b' }),
      entry(5, { keyHash: 'a', attempt: 0 }),
    ]);
    batch.putOff(0, { attempt: 4, faultClass: 'transient' });
    expect([1, 2].map((index) => batch.start(index))).toEqual(['start', 'put aside']);
    expect(batch.step()).toMatchObject({ settled: [], again: [{ offset: 3n }] });
  });

  it('tries no further record once its time is up, and what was begun counts all the same', () => {
    let isTimeUp = false;
    const entries = [entry(3), entry(4), entry(5, { keyHash: 'a' })];
    const batch = new ParkedBatch({ job: { attempts: 5 }, entries, random: () => 0, isTimeUp: () => isTimeUp });
    expect(batch.start(0)).toBe('start');
    isTimeUp = true;
    expect([1, 2].map((index) => batch.start(index))).toEqual(['put aside', 'put aside']);
    expect(batch.putOff(0, { attempt: 4, faultClass: 'timeout' })).toBe('put aside');
    expect(batch.step()).toMatchObject({ settled: [], again: [{ offset: 3n, attempt: 4 }] });
  });

  it('gives no attempt beyond those of the job', () => {
    const batch = batchOf([entry(3, { attempt: 4 })]);
    expect(batch.attemptsBefore(0)).toBe(4);
    expect(batch.pauseMs()).toBeUndefined();
    expect(batch.putOff(0, { attempt: 5, faultClass: 'transient' })).toBe('exhausted');
    expect(batch.step()).toBeUndefined();
  });

  it('keeps the first end of a record: a late answer of an attempt that was given up changes nothing', () => {
    const batch = batchOf([entry(3)]);
    batch.putOff(0, { attempt: 4, faultClass: 'timeout' });
    batch.settle(0, Settlement.ok);
    expect(batch.step()).toMatchObject({ settled: [], again: [{ offset: 3n }] });
  });
});
