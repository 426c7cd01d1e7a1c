/** The reply of a call is lost on the way. The store has acted; the repeat must get the same answer and act no second time. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { toOffset } from '@tidemark/keyspace';
import { services, uniqueNamespace } from '@tidemark/testkit';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { CursorStore } from '../../ports.ts';
import { installSample, parking, rangeOf, slotOn } from '../../testing/sample-jobs.ts';
import { createRedisCursorStore } from './index.ts';
import { scripts } from './scripts.ts';
import { PATIENT_MS, removeNamespace } from './test-access.ts';

const RANGE = { partition: 0, start: toOffset(-1n) };
const url = services().redis;
const namespace = uniqueNamespace('lost_reply');
let proxy: ReplyThief;
let store: CursorStore;
let jobId: string;
let jobs = 0;

beforeAll(async () => {
  proxy = await startReplyThief(url);
  store = await createRedisCursorStore({ url: proxy.url, namespace, retryForMs: PATIENT_MS });
});
afterAll(async () => {
  await store.close();
  await proxy.close();
  await removeNamespace(url, namespace);
});
beforeEach(async () => {
  jobs += 1;
  jobId = `job-${jobs}`;
  await installSample(store, { jobId, ranges: [{ start: -1n }] });
});

it('advance: the repeat gets the same answer, and the counters are added once', async () => {
  const slot = slotOn(store, { slot: 'a', jobId, range: RANGE });
  const token = await slot.granted();
  await slot.claim(token, 19n);
  await slot.advance(token, -1n, 9n); // the script is known to the server from here on
  const before = await rangeOf(store, jobId);
  proxy.stealReplyTo(scripts.advance.sha);
  expect(await slot.advance(token, 9n, 19n)).toEqual({ kind: 'advanced', end: 99n, done: false });
  expect(proxy.stolen()).toBe(1);
  const after = await rangeOf(store, jobId);
  expect(after).toMatchObject({ cursor: 19n, version: before.version + 1n });
  expect(after.counters.ok).toBe(20n);
});

it('advance to the end: the repeat still hears that the range is done', async () => {
  const slot = slotOn(store, { slot: 'a', jobId, range: RANGE });
  const token = await slot.granted();
  await slot.claim(token, 99n);
  proxy.stealReplyTo(scripts.advance.sha);
  expect(await slot.advance(token, -1n, 99n)).toEqual({ kind: 'advanced', end: 99n, done: true });
  expect(proxy.stolen()).toBe(1);
  expect((await rangeOf(store, jobId)).counters.ok).toBe(100n);
});

it('lease: the repeat gets the lease that was granted, not a refusal by itself', async () => {
  const slot = slotOn(store, { slot: 'a', jobId, range: RANGE });
  await slot.release(await slot.granted());
  proxy.stealReplyTo(scripts.lease.sha);
  const answer = await slot.lease();
  expect(proxy.stolen()).toBe(1);
  expect(answer).toMatchObject({ kind: 'granted', token: '00000000000000000001:00000000000000000002' });
  expect(await rangeOf(store, jobId)).toMatchObject({ token: '00000000000000000001:00000000000000000002' });
});

it('settle to the end: the repeat still hears that the range is done, and the counters are added once', async () => {
  const slot = slotOn(store, { slot: 'a', jobId, range: RANGE });
  const token = await slot.granted();
  await slot.claim(token, 99n);
  await slot.park(token, -1n, 99n, [parking(3n), parking(4n)]);
  await slot.settle(token, [3n]);
  proxy.stealReplyTo(scripts.settle.sha);
  expect(await slot.settle(token, [4n])).toEqual({ kind: 'settled', done: true });
  expect(proxy.stolen()).toBe(1);
  expect((await rangeOf(store, jobId)).counters).toMatchObject({ ok: 100n, parked: 0n });
});

it('split: the repeat finds the child and makes no second one', async () => {
  const at = toOffset(49n);
  await store.split({ jobId, range: RANGE, at: toOffset(70n) });
  proxy.stealReplyTo(scripts.split.sha);
  expect(await store.split({ jobId, range: RANGE, at })).toEqual({ kind: 'split' });
  expect(proxy.stolen()).toBe(1);
  expect((await store.snapshot(jobId))?.ranges.map(({ start, version }) => [start, version])).toEqual([
    [-1n, 2n],
    [49n, 1n],
    [70n, 1n],
  ]);
});

it.each(['renew', 'claim', 'release', 'stop'] as const)('%s: the repeat gets the same answer', async (operation) => {
  const slot = slotOn(store, { slot: 'a', jobId, range: RANGE });
  const token = await slot.granted();
  const before = await rangeOf(store, jobId);
  const calls = {
    renew: () => slot.renew(token, 'waiting'),
    claim: () => slot.claim(token, 9n),
    release: () => slot.release(token, { note: 'later' }),
    stop: () => slot.stop(token),
  };
  const kinds = { renew: 'renewed', claim: 'claimed', release: 'released', stop: 'stopped' };
  proxy.stealReplyTo(scripts[operation].sha);
  expect((await calls[operation]()).kind).toBe(kinds[operation]);
  expect(proxy.stolen()).toBe(1);
  const actsAgain = operation === 'renew'; // which changes nothing but the time
  expect((await rangeOf(store, jobId)).version).toBe(before.version + (actsAgain ? 2n : 1n));
});

interface ReplyThief {
  readonly url: string;
  /** The next command that names the script reaches the server; its reply is swallowed and the connection cut. */
  stealReplyTo(sha: string): void;
  stolen(): number;
  close(): Promise<void>;
}

async function startReplyThief(target: string): Promise<ReplyThief> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let wanted: string | undefined;
  let stolen = 0;

  const server: Server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let isArmed = false;
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', cut);
    }
    client.on('data', (data) => {
      if (wanted !== undefined && data.includes(wanted)) isArmed = true;
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      // A script that the server does not know did not act: that reply passes, the one to the next try is stolen.
      if (!isArmed || data.includes('NOSCRIPT') || data.includes(wanted ?? '')) {
        client.write(data);
        return;
      }
      isArmed = false;
      wanted = undefined;
      stolen += 1;
      cut();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    url: `redis://127.0.0.1:${address.port}`,
    stealReplyTo(sha) {
      wanted = sha;
      stolen = 0;
    },
    stolen: () => stolen,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
