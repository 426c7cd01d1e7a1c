/** A range that is cut while its owner finds out that offsets are lost, on the in-memory log and store. */
import type { CursorStore } from '@tidemark/cursors';
import { OnLost, resultOfRanges } from '@tidemark/jobs';
import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { altered } from './testing/altered-store.ts';
import { memoryBench } from './testing/memory-worker.ts';
import { numbers, recordingHandler } from './testing/recording-handler.ts';

/** Offsets 0-39 of which 0-29 are removed; the range is cut at 14 right before its owner says the first word about it. */
async function cutWhileLost(onLost: OnLost) {
  const bench = memoryBench();
  bench.cluster.createTopic('t');
  await bench.append('t', numbers(0, 39).map(String));
  const { handler, offsets } = recordingHandler();
  const job = await bench.install({ topic: 't', handler: handler.name, onLost });
  const topic = await bench.cluster.catalog.describe('t');
  if (topic === undefined) throw new Error('no topic');
  await bench.cluster.catalog.deleteRecordsBefore({ ...topic, partition: 0 }, toOffset(30));
  let isCut = false;
  const cut = async (): Promise<void> => {
    if (isCut) return;
    isCut = true;
    const range = { partition: 0, start: toOffset(-1) };
    expect(await bench.store.split({ jobId: job.jobId, range, at: toOffset(14) })).toEqual({ kind: 'split' });
  };
  const claim: CursorStore['claim'] = async (request) => {
    await cut();
    return await bench.store.claim(request);
  };
  const stop: CursorStore['stop'] = async (request) => {
    await cut();
    return await bench.store.stop(request);
  };
  const worker = await bench.work([handler], { store: altered(bench.store, { claim, stop }) });
  // It must not end: a bug, such as an advance out of bounds, takes the whole process along.
  const ranges = await Promise.race([job.closed(), worker.ended.then(() => Promise.reject(new Error('it ended')))]);
  return { ranges, offsets };
}

it('P7: passes what is lost up to the end that a cut has lowered, and leaves the rest to the new range', async () => {
  const { ranges, offsets } = await cutWhileLost(OnLost.skip);
  expect(ranges).toMatchObject([
    { end: 14n, cursor: 14n, status: 'done', passed: [{ first: 0n, last: 14n }], counters: { lost: 15n, ok: 0n } },
    { start: 14n, cursor: 39n, status: 'done', passed: [{ first: 15n, last: 29n }], counters: { lost: 15n, ok: 10n } },
  ]);
  expect(resultOfRanges(ranges).lost).toEqual([{ partition: 0, first: 0n, last: 29n }]);
  expect(offsets()).toEqual(numbers(30, 39));
});

it('P7: names what is lost once, although the range was cut meanwhile', async () => {
  const { ranges } = await cutWhileLost(OnLost.stop);
  expect(ranges).toMatchObject([
    { status: 'stopped', note: 'OFFSETS_LOST: 0-14', lost: [{ first: 0n, last: 14n }] },
    { status: 'stopped', note: 'OFFSETS_LOST: 15-29', lost: [{ first: 15n, last: 29n }] },
  ]);
  expect(resultOfRanges(ranges).totals.lost).toBe(30n);
});
