import { type JobDefinition, Ordering } from '@tidemark/jobs';
import { describe, expect, it } from 'vitest';
import { keyHashOf } from '../parked/key-hash.ts';
import { ParkedSet } from '../parked/parked-set.ts';
import { Settlement } from '../run/settlement.ts';
import { chunkOf } from '../testing/chunks.ts';
import { jobDefinition } from '../testing/job-definition.ts';
import { ChunkParking } from './chunk-parking.ts';
import { SettledPrefix } from './settled-prefix.ts';

/** Offsets 0, 1, 2, … with the given keys. */
function setUp(keys: readonly (string | null)[], job: Partial<JobDefinition> = {}) {
  const keyOf = (offset: number): Buffer | null => {
    const key = keys[offset] ?? null;
    return key === null ? null : Buffer.from(key);
  };
  const chunk = chunkOf(-1, keys.length, (offset) => ({ key: keyOf(offset) }));
  const prefix = new SettledPrefix(chunk);
  const parked = new ParkedSet();
  const definition = jobDefinition({ ordering: Ordering.key, attempts: 5, ...job });
  const options = { job: definition, parked, records: chunk.records, prefix, nowMs: () => 0, random: () => 0.5 };
  return { prefix, parked, parking: new ChunkParking(options) };
}

const transient = (attempt: number) => ({ attempt, faultClass: 'transient' }) as const;

describe('ChunkParking', () => {
  it('watches nothing, and asks for no key, while nothing is parked', () => {
    const { parking } = setUp(['a', 'b']);
    expect(parking.isWatching).toBe(false);
  });

  it('gives a record three attempts in place, one when it ran out of time, and parks it then', () => {
    const { parking, prefix } = setUp(['a', 'b']);
    expect([1, 2, 3].map((attempt) => parking.pauseMs(0, transient(attempt)))).toEqual([50, 100, undefined]);
    expect(parking.pauseMs(0, { attempt: 1, faultClass: 'timeout' })).toBeUndefined();
    expect(parking.putOff(0, transient(3))).toBe('put aside');
    const move = prefix.take();
    expect(move).toMatchObject({ to: 0n, add: { ok: 0n, parked: 1n } });
    const keyHash = keyHashOf(Buffer.from('a'));
    expect(move?.park).toEqual([{ offset: 0n, attempt: 3, faultClass: 'transient', keyHash, delayMs: 750 }]);
  });

  it('never makes more attempts than the job allows, and parks nothing after the last', () => {
    const { parking, parked } = setUp(['a'], { attempts: 2 });
    expect([1, 2].map((attempt) => parking.pauseMs(0, transient(attempt)))).toEqual([50, undefined]);
    expect(parking.putOff(0, transient(2))).toBe('exhausted');
    expect(parked.size).toBe(0);
  });

  it.each([{ ordering: Ordering.partition }, { parkedMax: 0 }])('makes all attempts in place under %o', (job) => {
    const { parking } = setUp(['a'], job);
    const pauses = [1, 2, 3, 4, 5].map((attempt) => parking.pauseMs(0, transient(attempt)));
    expect(pauses).toEqual([50, 100, 200, 400, undefined]);
    expect(parking.putOff(0, transient(5))).toBe('exhausted');
  });

  it('parks the later records of a parked key unhandled; records without a key wait for nobody', () => {
    const { parking, parked, prefix } = setUp(['a', 'b', 'a', null, 'a']);
    parking.putOff(0, transient(3));
    expect([1, 2, 3, 4].map((index) => parking.start(index))).toEqual(['start', 'put aside', 'start', 'put aside']);
    for (const index of [1, 3]) prefix.settle(index, Settlement.ok);
    expect(prefix.take()?.park.map(({ offset, attempt, faultClass }) => [offset, attempt, faultClass])).toEqual([
      [0n, 3, 'transient'],
      [2n, 0, 'queued'],
      [4n, 0, 'queued'],
    ]);
    expect(parked.size).toBe(3);
  });

  it('parks no key under ordering none: its later records go on', () => {
    const { parking, prefix } = setUp(['a', 'a'], { ordering: Ordering.none });
    parking.putOff(0, transient(3));
    expect(parking.isWatching).toBe(false);
    prefix.settle(1, Settlement.ok);
    expect(prefix.take()?.park).toMatchObject([{ keyHash: '' }]);
  });

  it('leaves a record open that finds no room, remembers its attempts, and parks it when there is', () => {
    const { parking, parked, prefix } = setUp(['a', 'b', 'c', 'd'], { parkedMax: 2 });
    for (const index of [0, 1]) expect(parking.putOff(index, transient(3))).toBe('put aside');
    const move = prefix.take();
    if (move === undefined) throw new Error('no move');
    parking.moved(move);
    expect(parking.pauseMs(2, transient(3))).toBeUndefined();
    expect(parking.putOff(2, transient(3))).toBe('full');
    expect(parking.start(2)).toBe('full');
    expect(parking.attemptsBefore(2)).toBe(3);
    parked.settled([move.to], [], 0);
    expect(parking.start(2)).toBe('put aside');
    expect(prefix.take()?.park).toMatchObject([{ offset: 2n, attempt: 3 }]);
    expect(parked.size).toBe(2);
  });

  it('goes on in place with the first open record when the set is full of records above it, which only it holds up', () => {
    const { parking, prefix } = setUp(['a', 'b', 'c', 'd'], { parkedMax: 2 });
    for (const index of [1, 2]) parking.putOff(index, transient(3));
    expect(prefix.take()).toBeUndefined();
    // With the patience of a parked one.
    expect(parking.pauseMs(0, transient(3))).toBe(750);
    expect(parking.pauseMs(3, transient(3))).toBeUndefined();
    expect(parking.pauseMs(0, transient(5))).toBeUndefined();
    expect(parking.putOff(0, transient(5))).toBe('exhausted');
  });

  it('starts a record that was left open again when only it holds up the set', () => {
    const { parking, prefix } = setUp(['a', 'b', 'c'], { parkedMax: 1 });
    parking.putOff(2, transient(3));
    expect(parking.putOff(1, transient(3))).toBe('full');
    prefix.settle(0, Settlement.ok);
    expect(parking.start(1)).toBe('start');
    expect(parking.attemptsBefore(1)).toBe(3);
  });
});
