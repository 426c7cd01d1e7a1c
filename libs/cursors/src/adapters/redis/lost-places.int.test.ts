/** How lost intervals lie in the store: readable by the version before, which knew none, and from what that one left. */
import { rangeIdOf } from '@tidemark/keyspace';
import { services, uniqueNamespace } from '@tidemark/testkit';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { jobKeys } from '../../keys.ts';
import type { CursorStore } from '../../ports.ts';
import { FIRST, installSample, interval, parking, rangeOf, slotOn } from '../../testing/sample-jobs.ts';
import { createRedisCursorStore } from './index.ts';
import { createTestAccess, PATIENT_MS, removeNamespace } from './test-access.ts';

const url = services().redis;
const namespace = uniqueNamespace('lost_places');
const access = createTestAccess(url);
let store: CursorStore;
let jobId: string;
let jobs = 0;

beforeAll(async () => {
  store = await createRedisCursorStore({ url, namespace, retryForMs: PATIENT_MS });
});
afterAll(async () => {
  await store.close();
  access.close();
  await removeNamespace(url, namespace);
});
beforeEach(async () => {
  jobs += 1;
  jobId = `job-${jobs}`;
  await installSample(store, { jobId, ranges: [{ start: FIRST.start }] });
});

const rangeKey = (): string => jobKeys(namespace, jobId).range(rangeIdOf(FIRST));

async function lossy(): Promise<ReturnType<typeof slotOn> & { readonly token: string }> {
  const slot = slotOn(store, { slot: 'a', jobId, range: FIRST });
  const token = await slot.granted();
  await slot.claim(token, 99n);
  await slot.park(token, -1n, 9n, [parking(3n), parking(5n)]);
  await slot.pass(token, 9n, 19n, [interval(10n, 14n)]);
  await slot.lose(token, [interval(5n, 5n)]);
  return { ...slot, token };
}

it('no field but a parked record has a colon at its seventh byte, by which the version before tells them', async () => {
  await lossy();
  const names = (await access.command('HKEYS', rangeKey())) as string[];
  expect(names.filter((name) => name[6] === ':')).toEqual(['parked:00000000000000000003']);
  expect(names.filter((name) => name.startsWith('gone:'))).toHaveLength(2);
});

it('a range that the version before wrote has no places, and takes new ones', async () => {
  const { pass, token } = await lossy();
  for (const name of (await access.command('HKEYS', rangeKey())) as string[])
    if (name.startsWith('gone')) await access.command('HDEL', rangeKey(), name);
  expect(await rangeOf(store, jobId)).toMatchObject({ passed: [], counters: { lost: 6n } });
  await pass(token, 19n, 29n, [interval(20n, 21n)]);
  expect(await rangeOf(store, jobId)).toMatchObject({ passed: [interval(20n, 21n)], counters: { lost: 8n } });
});

it('a place that somebody removed makes the job incomplete, so that it comes back from its checkpoint', async () => {
  await lossy();
  await access.command('HDEL', rangeKey(), 'gone:00000000000000000010');
  expect(await store.snapshot(jobId)).toBeUndefined();
});
