/** P10: what is handed over again is counted as such, however the range was left, on the in-memory log and store. */
import type { CursorStore } from '@tidemark/cursors';
import { done, fenced } from '@tidemark/handlers';
import { waitFor } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { PARKED_BASE_MS } from './limits.ts';
import { altered } from './testing/altered-store.ts';
import { endLease } from './testing/end-lease.ts';
import { type MemoryBench, memoryBench } from './testing/memory-worker.ts';
import { numbers, recordingHandler } from './testing/recording-handler.ts';

const SPEED = 100;

async function setUp(count: number, speed = SPEED): Promise<MemoryBench> {
  const bench = memoryBench({ speed });
  bench.cluster.createTopic('t');
  await bench.append('t', numbers(0, count - 1).map(String));
  return bench;
}

const never = (): Promise<never> => new Promise(() => undefined);

it('P10: an answer that comes while the last move is on its way hides nothing of what was handed out', async () => {
  const bench = await setUp(4);
  const late = Promise.withResolvers<void>();
  const { handler, offsets } = recordingHandler(async ({ offset }) => {
    if (offset === 1n) await late.promise;
    return done();
  });
  const job = await bench.install({ topic: 't', handler: handler.name });
  const advance: CursorStore['advance'] = async (request) => {
    late.resolve();
    await new Promise((resolve) => setTimeout(resolve, 5));
    return await bench.store.advance(request);
  };
  const worker = await bench.work([handler], { store: altered(bench.store, { advance }), stopGraceMs: 0 });
  await waitFor('a record in hand', async () => offsets().length === 2);
  await worker.stop('over');
  const second = recordingHandler();
  await bench.work([second.handler]);
  const [range] = await job.closed();
  const repeated = second.offsets().filter((offset) => offsets().includes(offset)).length;
  expect(repeated).toBeGreaterThan(0);
  expect(Number(range?.counters.maybeRedelivered)).toBeGreaterThanOrEqual(repeated);
});

it('P10: a parked record that was in hand when its worker stopped counts as perhaps delivered again', async () => {
  const bench = await setUp(4);
  const inHand = Promise.withResolvers<void>();
  const first = recordingHandler(({ offset }, { attempt }) => {
    if (offset !== 1n) return done();
    if (attempt < 4) throw new Error('flaky');
    inHand.resolve();
    return never();
  });
  const job = await bench.install({ topic: 't', handler: 'recording', attempts: 10 });
  const worker = await bench.work([first.handler], { stopGraceMs: 0 });
  await inHand.promise;
  await worker.stop('over');
  const second = recordingHandler();
  await bench.work([second.handler]);
  const [range] = await job.closed();
  expect(second.offsets()).toEqual([1]);
  expect(range?.counters).toMatchObject({ ok: 4n, retries: 3n, maybeRedelivered: 1n });
});

it('P10: parked records that were handled before the sink fenced the owner out count as perhaps delivered again', async () => {
  const bench = await setUp(6);
  let isFenced = true;
  const { handler, offsets } = recordingHandler(({ offset }, { attempt, token }) => {
    if (attempt < 4 && offset < 3n) throw new Error('flaky');
    if (offset === 2n && isFenced) {
      isFenced = false;
      return fenced(token);
    }
    return done();
  });
  const job = await bench.install({ topic: 't', handler: handler.name, attempts: 10 });
  await bench.work([handler]);
  const [range] = await job.closed();
  expect(range?.counters).toMatchObject({ ok: 6n });
  // Three attempts each in place, and one more each that settled them.
  const repeated = offsets().filter((offset) => offset < 3).length - 3 * 4;
  expect(repeated).toBeGreaterThan(0);
  expect(Number(range?.counters.maybeRedelivered)).toBeGreaterThanOrEqual(repeated);
});

it('P10: parked records of which a halted job takes no word any more count as perhaps delivered again', async () => {
  // Slow enough that a loaded machine does not spend the time of a batch on its first record.
  const bench = await setUp(4, 5);
  const inHand = Promise.withResolvers<void>();
  const first = recordingHandler(async ({ offset }, { attempt }) => {
    if (offset === 3n) {
      // Until both that are parked by then are due: they are tried in one batch.
      const dueMs = bench.nowMs() + PARKED_BASE_MS;
      await waitFor('both to be due', async () => bench.nowMs() > dueMs);
    }
    if (offset > 1n) return done();
    if (attempt < 4) throw new Error('flaky');
    if (offset === 0n) return done();
    inHand.resolve();
    return never();
  });
  const job = await bench.install({ topic: 't', handler: 'recording', attempts: 10 });
  const { jobId } = job;
  // Renewed after a third of it, which is when the worker hears of the halt, and too long to be lost before.
  const worker = await bench.work([first.handler], { leaseTtlMs: 60_000 });
  await inHand.promise;
  await bench.store.setMode({ jobId, mode: 'halted' });
  await waitFor('the worker to let go', async () => worker.state.slots.every(({ work }) => work === undefined));
  await worker.stop('over');
  await bench.store.setMode({ jobId, mode: 'running' });
  await endLease(bench.store, job);
  const second = recordingHandler();
  await bench.work([second.handler]);
  const [range] = await job.closed();
  expect(second.offsets()).toEqual([0, 1]);
  expect(range?.counters).toMatchObject({ ok: 4n, maybeRedelivered: 2n });
});
