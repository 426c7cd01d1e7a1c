import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { toOffset } from '@tidemark/keyspace';
import { type PrivateService, privateRedis, waitFor } from '@tidemark/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CursorStore } from '../../ports.ts';
import { installSample, rangeOf, slotOn } from '../../testing/sample-jobs.ts';
import { createRedisCursorStore, createRedisSchedule } from './index.ts';
import { createTestAccess, PATIENT_MS, type TestAccess } from './test-access.ts';

const NAMESPACE = 'faults';
const RANGE = { partition: 0, start: toOffset(-1n) };
const FIRST_ID = '0000000000:-0000000000000000001';

let server: PrivateService;
let access: TestAccess;
let store: CursorStore;

beforeAll(async () => {
  server = await privateRedis();
  access = createTestAccess(server.address);
  store = await createRedisCursorStore({ url: server.address, namespace: NAMESPACE, retryForMs: PATIENT_MS });
});
afterAll(async () => {
  await store.close();
  access.close();
  await server.stop();
});

it('E6 (a): refuses to start on a Redis that may evict keys, and names the setting', async () => {
  await access.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
  const options = { url: server.address, namespace: NAMESPACE };
  for (const create of [createRedisCursorStore, createRedisSchedule])
    await expect(create(options)).rejects.toMatchObject({
      code: 'REDIS_MAY_EVICT',
      class: 'config',
      message: expect.stringContaining('maxmemory-policy'),
    });
  await access.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
});

it.each([
  ['the job', (jobId: string) => `${NAMESPACE}:{${jobId}}:job`],
  ['the list of ranges', (jobId: string) => `${NAMESPACE}:{${jobId}}:ranges`],
  ['a range', (jobId: string) => `${NAMESPACE}:{${jobId}}:range:${FIRST_ID}`],
])(
  'E6 (b): when somebody deletes %s, the job is incomplete, never restarted and never completed',
  async (what, keyOf) => {
    const jobId = `deleted-${what.replaceAll(' ', '-')}`;
    await installSample(store, { jobId, ranges: [{ start: -1n }, { start: 49n }] });
    const slot = slotOn(store, { slot: 'a', jobId, range: RANGE });
    const token = await slot.granted();
    await slot.claim(token, 19n);
    expect(await access.command('DEL', keyOf(jobId))).toBe(1);
    expect(await slot.advance(token, -1n, 9n)).toEqual({ kind: 'incomplete' });
    expect(await slotOn(store, { slot: 'b', jobId, range: RANGE }).lease()).toEqual({ kind: 'incomplete' });
    expect(await store.snapshot(jobId)).toBeUndefined();
  },
);

it('E6 (b): when somebody deletes a parked record, the job is incomplete, and the record never counts as settled', async () => {
  const jobId = 'unparked';
  await installSample(store, { jobId, ranges: [{ start: -1n, cursor: 99n, parked: [3n, 7n] }] });
  const slot = slotOn(store, { slot: 'a', jobId, range: RANGE });
  const token = await slot.granted();
  const key = `${NAMESPACE}:{${jobId}}:range:${FIRST_ID}`;
  expect(await access.command('HDEL', key, 'parked:00000000000000000003')).toBe(1);
  expect(await store.snapshot(jobId)).toBeUndefined();
  expect(await slot.parked()).toBeUndefined();
  expect(await slot.settle(token, [7n])).toEqual({ kind: 'settled', done: false });
  expect(await slot.settle(token, [3n])).toEqual({ kind: 'not parked', offset: 3n });
  expect(await access.command('HGET', key, 'status')).toBe('open');
});

it('a job that an older version filled is incomplete for this one', async () => {
  const jobId = 'older';
  await installSample(store, { jobId, ranges: [{ start: -1n }] });
  await access.command('HDEL', `${NAMESPACE}:{${jobId}}:job`, 'mode');
  expect(await slotOn(store, { slot: 'a', jobId, range: RANGE }).lease()).toEqual({ kind: 'incomplete' });
  expect(await store.snapshot(jobId)).toBeUndefined();
});

it('E6 (b): when somebody deletes the list of claimable ranges, the next snapshot says so', async () => {
  await installSample(store, { jobId: 'unclaimable', ranges: [{ start: -1n }, { start: 49n }] });
  await access.command('DEL', `${NAMESPACE}:{unclaimable}:ready`);
  expect(await store.snapshot('unclaimable')).toBeUndefined();
});

it('E6 (c): a full memory is waited out, and nothing of a call is done halfway', async () => {
  const jobId = 'full';
  await installSample(store, { jobId, ranges: [{ start: -1n }] });
  const slot = slotOn(store, { slot: 'a', jobId, range: RANGE });
  const token = await slot.granted();
  await slot.claim(token, 19n);
  const before = await rangeOf(store, jobId);
  await access.command('CONFIG', 'SET', 'maxmemory', '1'); // less than it uses, whatever it gives back meanwhile
  const advance = slot.advance(token, -1n, 9n);
  await waitFor('two refusals for lack of memory', async () => {
    const line = await access.infoField('errorstats', 'errorstat_OOM');
    return Number(/count=(\d+)/.exec(line ?? '')?.[1] ?? 0) >= 2;
  });
  expect(await rangeOf(store, jobId)).toEqual(before); // looking is still possible
  await access.command('CONFIG', 'SET', 'maxmemory', '0');
  expect(await advance).toEqual({ kind: 'advanced', end: 99n, done: false });
  expect(await rangeOf(store, jobId)).toMatchObject({ cursor: 9n, counters: { ok: 10n } });
});

it('E6: no state key carries an expiry', async () => {
  const schedule = await createRedisSchedule({ url: server.address, namespace: NAMESPACE });
  await schedule.enlist({ jobId: 'listed', definition: '{}', priority: 0 });
  await schedule.propose({ limit: 1 });
  await schedule.announce({ workerId: 'w', host: 'h', pid: 1, handlers: [] });
  await schedule.close();
  await installSample(store, { jobId: 'kept', ranges: [{ start: -1n }] });
  await slotOn(store, { slot: 'a', jobId: 'kept', range: RANGE }).granted();
  const keys = (await access.command('KEYS', `${NAMESPACE}:*`)) as string[];
  expect(keys.length).toBeGreaterThan(8);
  for (const key of keys) expect([key, await access.command('PTTL', key)]).toEqual([key, -1]);
});

it('E4: a Redis that comes back older is found out; old owners stay fenced and tokens only grow', async () => {
  const jobId = 'rolled-back';
  const data = join(server.folder, 'data', 'appendonlydir');
  const saved = join(server.folder, 'saved');
  await installSample(store, { jobId, ranges: [{ start: -1n }], end: 199n });
  const a = slotOn(store, { slot: 'a', jobId, range: RANGE });
  const old = await a.granted();
  await a.claim(old, 60n);
  await a.advance(old, -1n, 60n, 0);
  cpSync(data, saved, { recursive: true });
  const b = slotOn(store, { slot: 'b', jobId, range: RANGE });
  const newest = await b.granted();
  await b.claim(newest, 100n);
  await b.advance(newest, 60n, 100n);

  await server.kill();
  rmSync(data, { recursive: true });
  cpSync(saved, data, { recursive: true });
  await server.start();
  await access.command('PING');

  // In the old data the first owner's lease is the last one, and its cursor is where it left it.
  expect(await access.command('HGET', `${NAMESPACE}:{${jobId}}:range:${FIRST_ID}`, 'token')).toBe(old);
  expect(await a.claim(old, 100n)).toEqual({ kind: 'incomplete' });
  expect(await b.advance(newest, 100n, 101n)).toEqual({ kind: 'incomplete' });
  const checkpoint = { start: -1n, cursor: 80n, horizon: 100n };
  await installSample(store, { jobId, epoch: 2n, ranges: [checkpoint], end: 199n });
  expect(await a.advance(old, 60n, 61n)).toEqual({ kind: 'fenced' });
  expect(await b.advance(newest, 100n, 101n)).toEqual({ kind: 'fenced' });
  const restored = await b.lease();
  expect(restored).toMatchObject({ kind: 'granted', cursor: 80n, horizon: 100n });
  expect(restored.kind === 'granted' && restored.token > newest).toBe(true);
  expect((await rangeOf(store, jobId)).counters.maybeRedelivered).toBe(20n);
});

it('an install that was cut off leaves the job incomplete, and the next one finishes it', async () => {
  const jobId = 'cut-off';
  await installSample(store, { jobId, ranges: [{ start: -1n }] });
  // As install-begin leaves it: the younger epoch is there, the incarnation is not.
  await access.command('HSET', `${NAMESPACE}:{${jobId}}:job`, 'epoch', '00000000000000000002', 'incarnation', '');
  const slot = slotOn(store, { slot: 'a', jobId, range: RANGE });
  expect(await slot.lease()).toEqual({ kind: 'incomplete' });
  expect(await store.snapshot(jobId)).toBeUndefined();
  expect(await installSample(store, { jobId, epoch: 1n, ranges: [{ start: -1n }] })).toEqual({
    kind: 'stale epoch',
    epoch: 2n,
  });
  expect(await installSample(store, { jobId, epoch: 2n, ranges: [{ start: -1n }] })).toEqual({ kind: 'installed' });
  expect(await slot.granted()).toBe('00000000000000000002:00000000000000000001');
});

it('says that Redis is unavailable, where, and why, within its bound; and works again by itself', async () => {
  const jobId = 'away';
  // Its bound is for the connection to a server that is up, too.
  const impatient = await createRedisCursorStore({ url: server.address, namespace: NAMESPACE, retryForMs: 5_000 });
  await installSample(impatient, { jobId, ranges: [{ start: -1n }] });
  await server.shutdown();
  const { host } = new URL(server.address);
  await expect(impatient.snapshot(jobId)).rejects.toMatchObject({
    code: 'REDIS_UNAVAILABLE',
    class: 'unavailable',
    message: expect.stringContaining(host),
  });
  await expect(
    createRedisCursorStore({ url: server.address, namespace: NAMESPACE, retryForMs: 2_000 }),
  ).rejects.toMatchObject({
    class: 'unavailable',
    message: expect.stringContaining('ECONNREFUSED'),
  });
  await server.start();
  expect(await waitFor('the connection', async () => (await impatient.incarnation()).length)).toBe(81);
  await impatient.close();
  await expect(impatient.incarnation()).rejects.toMatchObject({ class: 'unavailable' });
});
