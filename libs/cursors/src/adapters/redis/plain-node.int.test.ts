/** A Redis without cluster mode, alone and as one of a pair. */
import { toOffset } from '@tidemark/keyspace';
import { type PrivateService, privateRedis, waitFor } from '@tidemark/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CursorStore } from '../../ports.ts';
import { cursorStoreContract } from '../../testing/cursor-store.contract.ts';
import { installSample, slotOn } from '../../testing/sample-jobs.ts';
import { createRedisCursorStore } from './index.ts';
import { createTestAccess, PATIENT_MS, type TestAccess } from './test-access.ts';

const NAMESPACE = 'pair';
const RANGE = { partition: 0, start: toOffset(-1n) };

let first: PrivateService;
let second: PrivateService;
let access: TestAccess;
let store: CursorStore;

beforeAll(async () => {
  [first, second] = await Promise.all([privateRedis({ cluster: false }), privateRedis({ cluster: false })]);
  access = createTestAccess(first.address);
  store = await createRedisCursorStore({ url: first.address, namespace: NAMESPACE, retryForMs: PATIENT_MS });
});
afterAll(async () => {
  await store.close();
  access.close();
  await first.stop();
  await second.stop();
});

cursorStoreContract('Redis without cluster mode', () =>
  createRedisCursorStore({ url: first.address, namespace: 'contract', retryForMs: PATIENT_MS }),
);

it('E5: a master that turns into a read-only replica and back is waited out, and is another store afterwards', async () => {
  const jobId = 'detour';
  await installSample(store, { jobId, ranges: [{ start: -1n }] });
  const slot = slotOn(store, { slot: 'a', jobId, range: RANGE });
  const token = await slot.granted();
  await slot.claim(token, 19n);
  const runIdBefore = await access.infoField('server', 'run_id');
  const incarnationBefore = await store.incarnation();

  const { hostname, port } = new URL(second.address);
  await access.command('REPLICAOF', hostname, port);
  const advance = slot.advance(token, -1n, 9n);
  await waitFor('two refusals by a replica', async () => {
    const line = await access.infoField('errorstats', 'errorstat_READONLY');
    return Number(/count=(\d+)/.exec(line ?? '')?.[1] ?? 0) >= 2;
  });
  await access.command('REPLICAOF', 'NO', 'ONE');

  expect(await advance).toEqual({ kind: 'incomplete' });
  expect(await access.infoField('server', 'run_id')).toBe(runIdBefore); // the process lived on, only its data did not
  expect(await store.incarnation()).not.toBe(incarnationBefore);
  await installSample(store, { jobId, epoch: 2n, ranges: [{ start: -1n, horizon: 19n }] });
  expect((await slot.granted()) > token).toBe(true);
});

it('a wrong or missing password is a matter of configuration, said at once', async () => {
  await access.command('CONFIG', 'SET', 'requirepass', 'secret');
  const { host } = new URL(first.address);
  for (const url of [first.address, `redis://:wrong@${host}`])
    await expect(createRedisCursorStore({ url, namespace: NAMESPACE })).rejects.toMatchObject({
      code: 'REDIS_DENIED',
      class: 'config',
      message: expect.not.stringContaining('wrong@'),
    });
  const admitted = await createRedisCursorStore({ url: `redis://:secret@${host}`, namespace: NAMESPACE });
  await admitted.close();
  await access.command('CONFIG', 'SET', 'requirepass', '');
});

it('a detour that left the data alone is another life all the same', async () => {
  const jobId = 'unharmed';
  await installSample(store, { jobId, ranges: [{ start: -1n }] });
  const slot = slotOn(store, { slot: 'a', jobId, range: RANGE });
  const token = await slot.granted();
  await access.command('REPLICAOF', '127.0.0.1', '1'); // nobody is there to copy from
  await access.command('REPLICAOF', 'NO', 'ONE');
  expect(await access.command('EXISTS', `${NAMESPACE}:{${jobId}}:job`)).toBe(1);
  expect(await slot.claim(token, 9n)).toEqual({ kind: 'incomplete' });
  expect(await store.snapshot(jobId)).toBeUndefined();
});
