/** What the schedule leaves in Redis: hints that nobody repeats go away by themselves, without an expiry. */
import { services, uniqueNamespace } from '@tidemark/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { scheduleKeys } from '../../keys.ts';
import type { Schedule } from '../../schedule-ports.ts';
import { FOR_LONG_MS } from '../../testing/sample-jobs.ts';
import { createRedisSchedule } from './index.ts';
import { createTestAccess, PATIENT_MS, removeNamespace } from './test-access.ts';

const url = services().redis;
const namespace = uniqueNamespace('schedule');
const keys = scheduleKeys(namespace);
const access = createTestAccess(url);
let schedule: Schedule;

beforeAll(async () => {
  schedule = await createRedisSchedule({ url, namespace, retryForMs: PATIENT_MS });
});
afterAll(async () => {
  await schedule.close();
  access.close();
  await removeNamespace(url, namespace);
});

it('forgets after half a minute what a job was said to wait for', async () => {
  await schedule.noteWaiting({ jobId: 'b', reason: 'breaker mail' });
  await access.command('HSET', keys.waiting, 'a', `${Date.now() - 31_000} breaker sms`);
  expect([...(await schedule.waiting()).keys()]).toEqual(['b']);
  expect(await access.command('HKEYS', keys.waiting)).toEqual(['b']);
});

it('keeps no permits that ended, nor of jobs that were withdrawn', async () => {
  const request = { slot: 'worker 1/0', jobMax: 1, allMax: 0 };
  await schedule.permit({ ...request, jobId: 'ended', ttlMs: 0 });
  await schedule.permit({ ...request, jobId: 'withdrawn', ttlMs: FOR_LONG_MS });
  await schedule.permit({ ...request, jobId: 'live', ttlMs: FOR_LONG_MS });
  await schedule.withdraw('withdrawn');
  expect(await access.command('ZRANGE', keys.permits, '0', '-1')).toEqual(['live worker 1/0']);
  expect(await access.command('EXISTS', keys.permitsOf('withdrawn'))).toBe(0);
});

it('books on the clock of the store to the microsecond, and keeps no bucket that is idle', async () => {
  await access.command('ZADD', keys.rates, String((Date.now() - 5_000) * 1_000), 'job:idle');
  await schedule.bookRate({ bucket: 'job:a', perSecond: 1_000, records: 10_000_001 });
  const first = String(await access.command('ZSCORE', keys.rates, 'job:a'));
  await schedule.bookRate({ bucket: 'job:a', perSecond: 3, records: 1 });
  const second = String(await access.command('ZSCORE', keys.rates, 'job:a'));
  expect([first, second].every((text) => /^\d{16}$/.test(text))).toBe(true);
  expect(BigInt(second) - BigInt(first)).toBe(333_334n);
  expect(Math.abs(Number(first) / 1_000 - 9_999_001 - Date.now())).toBeLessThan(60_000);
  expect(await access.command('ZRANGE', keys.rates, '0', '-1')).toEqual(['job:a']);
});
