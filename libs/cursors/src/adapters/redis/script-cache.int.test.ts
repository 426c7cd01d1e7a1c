import { rangeOfId, toOffset } from '@tidemark/keyspace';
import { type PrivateService, privateRedis } from '@tidemark/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CursorStore } from '../../ports.ts';
import { installSample, slotOn } from '../../testing/sample-jobs.ts';
import { createRedisCursorStore } from './index.ts';
import { createTestAccess, PATIENT_MS, type TestAccess } from './test-access.ts';

const SLOTS = 8;
const CHUNKS = 150;
const CHUNK = 10n;
const FLUSH_EVERY_ADVANCES = 100;
/** lease, claim, advance. */
const SCRIPTS_IN_USE = 3;

let server: PrivateService;
let access: TestAccess;
let store: CursorStore;

beforeAll(async () => {
  server = await privateRedis();
  access = createTestAccess(server.address);
  store = await createRedisCursorStore({
    url: server.address,
    namespace: 'script_cache',
    retryForMs: PATIENT_MS,
  });
});
afterAll(async () => {
  await store.close();
  access.close();
  await server.stop();
});

it('E1: a stream of pipelined calls survives SCRIPT FLUSH, with at most one reload per script and flush', async () => {
  const jobId = 'flushed';
  const starts = Array.from({ length: SLOTS }, (_, i) => BigInt(i) * CHUNK * BigInt(CHUNKS) - 1n);
  await installSample(store, {
    jobId,
    end: CHUNK * BigInt(CHUNKS * SLOTS) - 1n,
    ranges: starts.map((start) => ({ start })),
  });
  const loadsBefore = await scriptLoads();
  let advances = 0;
  let flushes = 0;

  await Promise.all(
    starts.map(async (start, index) => {
      const slot = slotOn(store, { slot: `slot-${index}`, jobId, range: { partition: 0, start: toOffset(start) } });
      const token = await slot.granted();
      for (let chunk = 0n; chunk < BigInt(CHUNKS); chunk += 1n) {
        const from = start + chunk * CHUNK;
        expect((await slot.claim(token, from + CHUNK)).kind).toBe('claimed');
        expect((await slot.advance(token, from, from + CHUNK)).kind).toBe('advanced');
        advances += 1;
        if (advances % FLUSH_EVERY_ADVANCES === 0) {
          flushes += 1;
          await access.command('SCRIPT', 'FLUSH');
        }
      }
    }),
  );

  const snapshot = await store.snapshot(jobId);
  expect(
    snapshot?.ranges.every(({ status, counters }) => status === 'done' && counters.ok === CHUNK * BigInt(CHUNKS)),
  ).toBe(true);
  const reloads = (await scriptLoads()) - loadsBefore;
  expect(flushes).toBe((SLOTS * CHUNKS) / FLUSH_EVERY_ADVANCES);
  expect(reloads).toBeGreaterThanOrEqual(flushes); // it did lose them
  expect(reloads).toBeLessThanOrEqual(SCRIPTS_IN_USE * (flushes + 1)); // the first load of each is one more
});

it('E1: after a restart on its own data the store is incomplete, and works on from an install with a younger epoch', async () => {
  const jobId = 'restarted';
  await installSample(store, { jobId, ranges: [{ start: -1n }] });
  const range = rangeOfId('0000000000:-0000000000000000001');
  const slot = slotOn(store, { slot: 'a', jobId, range });
  const token = await slot.granted();
  await slot.claim(token, 19n);
  await slot.advance(token, -1n, 9n);
  const before = await store.incarnation();

  await server.kill();
  const during = slot.advance(token, 9n, 19n); // keeps trying over the restart
  await server.start();

  expect(await during).toEqual({ kind: 'incomplete' });
  expect(await access.command('HGET', `script_cache:{${jobId}}:job`, 'incarnation')).toBe(before); // the data is there …
  expect(await store.incarnation()).not.toBe(before);
  expect(await store.snapshot(jobId)).toBeUndefined(); // … and may not be trusted
  expect(await slot.lease()).toEqual({ kind: 'incomplete' });
  expect(await installSample(store, { jobId, epoch: 1n, ranges: [{ start: -1n }] })).toEqual({
    kind: 'stale epoch',
    epoch: 1n,
  });

  await installSample(store, { jobId, epoch: 2n, ranges: [{ start: -1n, cursor: 9n, horizon: 19n }] });
  expect(await slot.advance(token, 9n, 19n)).toEqual({ kind: 'fenced' });
  const younger = await slot.granted();
  expect(younger > token).toBe(true);
  expect(await slot.advance(younger, 9n, 19n)).toEqual({ kind: 'advanced', end: 99n, done: false });
});

async function scriptLoads(): Promise<number> {
  const line = await access.infoField('commandstats', 'cmdstat_script|load');
  return Number(/calls=(\d+)/.exec(line ?? '')?.[1] ?? 0);
}
