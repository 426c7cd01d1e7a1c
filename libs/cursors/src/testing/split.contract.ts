/** What every cursor store must do when a range is cut. A part of the contract of a cursor store. */
import { type Offset, RANGES_PER_JOB_MAX, toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import type { CursorStore } from '../ports.ts';
import { FIRST, FOR_LONG_MS, installSample, parking, rangeOf, slotOn } from './sample-jobs.ts';

export function splitContract(storeOf: () => CursorStore, newJob: () => string): void {
  const bounds = async (jobId: string): Promise<readonly (readonly [Offset, Offset])[]> =>
    ((await storeOf().snapshot(jobId))?.ranges ?? []).map(({ start, end }) => [start, end]);
  const split = (jobId: string, at: bigint, range = FIRST) => storeOf().split({ jobId, range, at: toOffset(at) });
  /** A job of one range, (-1, 99], held by `a`, cursor 9, horizon 19. */
  const underWay = async () => {
    const store = storeOf();
    const jobId = newJob();
    await installSample(store, { jobId, epoch: 3n, ranges: [{ start: -1n }] });
    const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
    const token = await a.granted();
    await a.claim(token, 19n);
    await a.advance(token, -1n, 9n);
    return { store, jobId, a, token };
  };

  describe('split', () => {
    it('cuts above the horizon while the owner works, who meets the new end at its next call', async () => {
      const { store, jobId, a, token } = await underWay();
      const parent = await rangeOf(store, jobId);
      expect(await split(jobId, 49n)).toEqual({ kind: 'split' });
      expect(await bounds(jobId)).toEqual([
        [-1n, 49n],
        [49n, 99n],
      ]);
      expect(await rangeOf(store, jobId)).toEqual({ ...parent, end: toOffset(49n), version: parent.version + 1n });
      expect(await rangeOf(store, jobId, 49n)).toMatchObject({
        ...{
          cursor: 49n,
          horizon: 49n,
          status: 'open',
          owner: '',
          token: '',
          note: '',
          parked: [],
          passed: [],
          lost: [],
        },
        ...{ counters: { ok: 0n, parked: 0n, chunks: 0n, maybeRedelivered: 0n }, version: 1n },
      });
      expect(await a.claim(token, 80n)).toEqual({ kind: 'claimed', horizon: 49n, end: 49n });
      expect(await a.advance(token, 9n, 49n)).toEqual({ kind: 'advanced', end: 49n, done: true });
      const candidates = await store.candidates({ jobId, limit: 9 });
      expect(candidates.map(({ range }) => range.start)).toEqual([49n]);
      expect(candidates[0]?.readyAtMs).toBeLessThanOrEqual(Date.now() + 1_000);
      expect(await slotOn(store, { slot: 'b', jobId, range: { partition: 0, start: toOffset(49n) } }).lease()).toEqual({
        kind: 'granted',
        cursor: 49n,
        horizon: 49n,
        end: 99n,
        token: '00000000000000000003:00000000000000000001',
        parkedCount: 0,
      });
    });

    it('refuses what the owner may have handed out, and takes the horizon itself, which the range still covers', async () => {
      const { store, jobId, a, token } = await underWay();
      expect(await split(jobId, 18n)).toEqual({ kind: 'refused', why: 'claimed' });
      expect(await split(jobId, 19n)).toEqual({ kind: 'split' });
      expect(await a.claim(token, 20n)).toEqual({ kind: 'claimed', horizon: 19n, end: 19n });
      expect(await a.advance(token, 9n, 19n)).toEqual({ kind: 'advanced', end: 19n, done: true });
      expect(await rangeOf(store, jobId, 19n)).toMatchObject({ cursor: 19n, end: 99n });
    });

    it('refuses a cut at the cursor, which would leave a range that nothing could close', async () => {
      const { store, jobId, a, token } = await underWay();
      await a.advance(token, 9n, 19n); // cursor = horizon = 19
      expect(await split(jobId, 19n)).toEqual({ kind: 'refused', why: 'claimed' });
      expect(await split(jobId, 20n)).toEqual({ kind: 'split' });
      expect(await bounds(jobId)).toEqual([
        [-1n, 20n],
        [20n, 99n],
      ]);
      expect((await rangeOf(store, jobId)).status).toBe('open');
    });

    it('refuses a place outside, and a range that has ended or is not there', async () => {
      const { store, jobId, a, token } = await underWay();
      const outside = { kind: 'refused', why: 'outside' };
      expect(await split(jobId, -1n)).toEqual(outside);
      expect(await split(jobId, 99n)).toEqual(outside);
      expect(await split(jobId, 120n)).toEqual(outside);
      const closed = { kind: 'refused', why: 'closed' };
      expect(await split(jobId, 50n, { partition: 5, start: FIRST.start })).toEqual(closed);
      await a.stop(token);
      expect(await split(jobId, 50n)).toEqual(closed);
      expect(await bounds(jobId)).toEqual([[-1n, 99n]]);
      expect(await store.split({ jobId: newJob(), range: FIRST, at: toOffset(5n) })).toEqual({ kind: 'incomplete' });
    });

    it('is there once however often it is asked for, also when the range has ended by then', async () => {
      const { store, jobId, a, token } = await underWay();
      await split(jobId, 29n);
      const before = await store.snapshot(jobId);
      expect(await split(jobId, 29n)).toEqual({ kind: 'split' });
      expect(await store.snapshot(jobId)).toEqual(before);
      await a.claim(token, 29n);
      await a.advance(token, 9n, 29n);
      expect(await split(jobId, 29n)).toEqual({ kind: 'split' });
      expect(await split(jobId, 60n)).toEqual({ kind: 'refused', why: 'closed' });
    });

    it('may go on in the child and below it, and the ranges still tile the window', async () => {
      const { store, jobId } = await underWay();
      await split(jobId, 60n);
      expect(await split(jobId, 80n)).toEqual({ kind: 'refused', why: 'outside' });
      expect(await split(jobId, 80n, { partition: 0, start: toOffset(60n) })).toEqual({ kind: 'split' });
      expect(await split(jobId, 40n)).toEqual({ kind: 'split' });
      expect(await bounds(jobId)).toEqual([
        [-1n, 40n],
        [40n, 60n],
        [60n, 80n],
        [80n, 99n],
      ]);
      await store.remove({ jobId });
      expect(await store.snapshot(jobId)).toBeUndefined();
    });

    it('leaves what is parked with the range that passed it, and the answers that are remembered', async () => {
      const { store, jobId, a, token } = await underWay();
      const call = a.fresh();
      const answer = await a.park(token, 9n, 19n, [parking(12n)], call);
      await split(jobId, 29n);
      expect(await a.park(token, 9n, 19n, [parking(12n)], call)).toEqual(answer);
      expect(await rangeOf(store, jobId)).toMatchObject({ parked: [{ offset: 12n }], counters: { parked: 1n } });
      expect((await rangeOf(store, jobId, 29n)).parked).toEqual([]);
    });

    it('makes no more ranges than an install takes', async () => {
      const store = storeOf();
      const jobId = newJob();
      const ranges = Array.from({ length: RANGES_PER_JOB_MAX }, (_, i) => ({ start: BigInt(i) * 10n - 1n }));
      await installSample(store, { jobId, ranges, end: BigInt(RANGES_PER_JOB_MAX) * 10n });
      expect(await split(jobId, 5n)).toEqual({ kind: 'refused', why: 'full' });
      await store.remove({ jobId });
    });

    it('is lost with the store like all else: a younger epoch has the ranges that it was given', async () => {
      const { store, jobId } = await underWay();
      await split(jobId, 50n);
      await installSample(store, { jobId, epoch: 9n, ranges: [{ start: -1n, cursor: 9n, horizon: 60n }] });
      expect(await bounds(jobId)).toEqual([[-1n, 99n]]);
      expect(await slotOn(store, { slot: 'b', jobId, range: FIRST }).lease(FOR_LONG_MS)).toMatchObject({
        horizon: 60n,
      });
    });
  });
}
