import { expect, it } from 'vitest';
import { floorKey, jobKeys, scheduleKeys } from './keys.ts';

/** What a cluster hashes: the text between the first brace and the next closing one. */
function slotTagOf(key: string): string | undefined {
  return /\{([^}]+)\}/.exec(key)?.[1];
}

function allScheduleKeys(): readonly string[] {
  const { permitsOf, ...keys } = scheduleKeys('tidemark');
  return [...Object.values(keys), permitsOf('nightly.7')];
}

it('puts all keys of a job into one slot, and all keys of the schedule into another', () => {
  const { job, ranges, ready, range } = jobKeys('tidemark', 'nightly.7');
  for (const key of [job, ranges, ready, range('0000000001:00000000000000000009')])
    expect(slotTagOf(key)).toBe('nightly.7');
  for (const key of allScheduleKeys()) expect(slotTagOf(key)).toBe('sched');
});

it('gives a job named like the schedule other keys than the schedule has', () => {
  const job = jobKeys('tidemark', 'sched');
  const all = [job.job, job.ranges, job.ready, job.range('x'), ...allScheduleKeys()];
  expect(new Set(all).size).toBe(all.length);
});

it('refuses names that would move a key to another slot', () => {
  expect(() => jobKeys('tidemark', 'a}b')).toThrow(/not a job id: "a}b"/);
  expect(() => jobKeys('tide{mark', 'a')).toThrow(/not a namespace/);
  expect(() => scheduleKeys('')).toThrow(/not a namespace/);
});

it('gives every partition of every incarnation of a topic a key of its own, in the slot of the partition', () => {
  const place = { topic: 'orders', topicId: 'a-1', partition: 3 };
  expect(slotTagOf(floorKey('tidemark', place))).toBe('floor:orders:3');
  const others = [
    { ...place, topicId: 'a-2' },
    { ...place, partition: 4 },
    { ...place, topic: 'orders:3' },
  ];
  expect(new Set([place, ...others].map((each) => floorKey('tidemark', each))).size).toBe(4);
  expect(() => floorKey('tidemark', { ...place, topic: 'a}b' })).toThrow(/not a partition/);
  expect(() => floorKey('tidemark', { ...place, partition: -1 })).toThrow(/not a partition/);
});
