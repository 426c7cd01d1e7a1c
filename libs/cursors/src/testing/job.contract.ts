/** What every cursor store must do with jobs: filling them in, their modes, their removal. A part of the contract of a cursor store. */
import { toOffset } from '@tidemark/keyspace';
import { beforeAll, describe, expect, it } from 'vitest';
import type { CursorStore } from '../ports.ts';
import { FIRST, FOR_LONG_MS, installOneRange, installSample, parking, rangeOf, slotOn } from './sample-jobs.ts';

export function jobContract(storeOf: () => CursorStore, newJob: () => string): void {
  let store: CursorStore;
  beforeAll(() => {
    store = storeOf();
  });
  const oneRange = (): Promise<string> => installOneRange(store, newJob());

  describe('install', () => {
    it('E4: a younger epoch fences every former owner and draws larger tokens', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const old = await a.granted();
      await a.claim(old, 59n);
      await a.advance(old, -1n, 59n);
      const restored = { jobId, epoch: 5n, ranges: [{ start: -1n, cursor: 39n, horizon: 59n }] };
      expect(await installSample(store, restored)).toEqual({ kind: 'installed' });
      expect(await a.advance(old, 59n, 60n)).toEqual({ kind: 'fenced' });
      const next = await slotOn(store, { slot: 'b', jobId, range: FIRST }).lease();
      expect(next).toMatchObject({ kind: 'granted', cursor: 39n, horizon: 59n });
      expect(next.kind === 'granted' && next.token > old).toBe(true);
      expect((await rangeOf(store, jobId)).counters.maybeRedelivered).toBe(20n);
    });

    it('forgets the calls from before: a repeat of one is a call of a fenced owner', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      await a.claim(token, 19n);
      const call = a.fresh();
      await a.advance(token, -1n, 9n, FOR_LONG_MS, call);
      await installSample(store, { jobId, epoch: 5n, ranges: [{ start: -1n, cursor: 9n }] });
      expect(await a.advance(token, -1n, 9n, FOR_LONG_MS, call)).toEqual({ kind: 'fenced' });
    });

    it('does nothing for an epoch that is complete, and refuses an older one', async () => {
      const jobId = newJob();
      await installSample(store, { jobId, epoch: 7n, ranges: [{ start: -1n }] });
      const token = await slotOn(store, { slot: 'a', jobId, range: FIRST }).granted();
      expect(await installSample(store, { jobId, epoch: 7n, ranges: [{ start: -1n }] })).toEqual({
        kind: 'installed',
      });
      expect((await rangeOf(store, jobId)).token).toBe(token);
      const stale = await installSample(store, { jobId, epoch: 6n, ranges: [{ start: -1n }] });
      expect(stale).toEqual({ kind: 'stale epoch', epoch: 7n });
    });

    it('replaces the topology: ranges that are no longer there are gone', async () => {
      const jobId = newJob();
      await installSample(store, { jobId, epoch: 1n, ranges: [{ start: -1n }, { start: 49n }] });
      await installSample(store, { jobId, epoch: 2n, ranges: [{ start: -1n }, { start: 19n }] });
      const ranges = (await store.snapshot(jobId))?.ranges.map(({ start, end }) => [start, end]);
      expect(ranges).toEqual([
        [-1n, 19n],
        [19n, 99n],
      ]);
    });

    it('closes what has nothing left: an empty window, and a range whose cursor is at its end', async () => {
      const jobId = newJob();
      const ends = [
        { partition: 0, end: toOffset(99n) },
        { partition: 1, end: toOffset(-1n) },
      ];
      await installSample(store, {
        jobId,
        ends,
        ranges: [{ start: -1n, cursor: 49n, horizon: 70n }, { start: 49n }, { partition: 1, start: -1n }],
      });
      const states = (await store.snapshot(jobId))?.ranges.map(({ end, horizon, status }) => [end, horizon, status]);
      expect(states).toEqual([
        [49n, 49n, 'done'],
        [99n, 49n, 'open'],
        [-1n, -1n, 'done'],
      ]);
      expect((await store.candidates({ jobId, limit: 10 })).map(({ range }) => range.start)).toEqual([49n]);
    });

    it('holds many ranges, more than one slice', async () => {
      const jobId = newJob();
      const ranges = Array.from({ length: 250 }, (_, i) => ({ start: BigInt(i) * 10n - 1n }));
      await installSample(store, { jobId, ranges, end: 2_499n });
      const snapshot = await store.snapshot(jobId);
      expect(snapshot?.ranges.map(({ start }) => start)).toEqual(ranges.map(({ start }) => start));
      expect(snapshot?.ranges.every((range) => range.end === range.start + 10n)).toBe(true);
    });

    it('refuses to fill a store that has become another one', async () => {
      const job = { jobId: newJob(), definition: '', epoch: toOffset(1n), ends: [], ranges: [] };
      await expect(store.install({ ...job, incarnation: 'another life' })).rejects.toMatchObject({
        code: 'STORE_CHANGED',
        class: 'transient',
      });
      expect(await store.snapshot(job.jobId)).toBeUndefined();
    });
  });

  describe('a job', () => {
    it('halts within one call of everybody, lets go, and runs again', async () => {
      const jobId = newJob();
      await installSample(store, { jobId, mode: 'halted', ranges: [{ start: -1n }] });
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      expect(await a.lease()).toEqual({ kind: 'not running' });
      await store.setMode({ jobId, mode: 'running' });
      const token = await a.granted();
      await store.setMode({ jobId, mode: 'halted' });
      expect(await a.claim(token, 9n)).toEqual({ kind: 'not running' });
      expect(await a.renew(token)).toEqual({ kind: 'not running' });
      expect(await a.advance(token, -1n, 9n)).toEqual({ kind: 'not running' });
      expect(await a.settle(token, [4n])).toEqual({ kind: 'not running' });
      expect(await store.split({ jobId, range: FIRST, at: toOffset(60n) })).toEqual({ kind: 'not running' });
      expect(await a.stop(token)).toEqual({ kind: 'not running' });
      expect(await store.candidates({ jobId, limit: 1 })).toEqual([]);
      expect(await a.release(token)).toEqual({ kind: 'released' });
      expect(await store.snapshot(jobId)).toMatchObject({ mode: 'halted', ranges: [{ owner: '' }] });
      await store.setMode({ jobId, mode: 'running' });
      expect((await a.lease()).kind).toBe('granted');
    });

    it('drains: what is being handled is settled and given back, nothing new begins', async () => {
      const jobId = newJob();
      await installSample(store, { jobId, ranges: [{ start: -1n }, { start: 49n }] });
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      await a.claim(token, 19n);
      await store.setMode({ jobId, mode: 'draining' });
      const notRunning = { kind: 'not running' };
      const second = { partition: 0, start: toOffset(49n) };
      expect(await slotOn(store, { slot: 'b', jobId, range: second }).lease()).toEqual(notRunning);
      expect(await a.claim(token, 29n)).toEqual(notRunning);
      expect(await store.split({ jobId, range: second, at: toOffset(60n) })).toEqual(notRunning);
      expect(await store.candidates({ jobId, limit: 9 })).toEqual([]);
      expect(await a.renew(token)).toEqual({ kind: 'renewed' });
      expect((await a.park(token, -1n, 19n, [parking(4n)])).kind).toBe('advanced');
      expect((await a.settle(token, [4n])).kind).toBe('settled');
      expect(await a.release(token)).toEqual({ kind: 'released' });
      expect(await store.snapshot(jobId)).toMatchObject({
        mode: 'draining',
        ranges: [{ cursor: 19n, owner: '' }, {}],
      });
    });

    it('that is halted stays so when an order to drain comes late', async () => {
      const jobId = await oneRange();
      await store.setMode({ jobId, mode: 'halted' });
      await store.setMode({ jobId, mode: 'draining' });
      expect((await store.snapshot(jobId))?.mode).toBe('halted');
    });

    it('installed while it drains or is halted is so', async () => {
      for (const mode of ['draining', 'halted'] as const) {
        const jobId = newJob();
        await installSample(store, { jobId, mode, ranges: [{ start: -1n }] });
        expect((await store.snapshot(jobId))?.mode).toBe(mode);
      }
    });

    it('is gone after its removal, and a switch does not bring it back', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      await store.remove({ jobId });
      await store.remove({ jobId });
      await store.setMode({ jobId, mode: 'running' });
      expect(await store.snapshot(jobId)).toBeUndefined();
      expect(await a.release(token)).toEqual({ kind: 'incomplete' });
      await installSample(store, { jobId, epoch: 2n, ranges: [{ start: 9n }] });
      expect((await store.snapshot(jobId))?.ranges.map(({ start }) => start)).toEqual([9n]);
    });

    it('stays when who removes it is older than who filled it in', async () => {
      const jobId = newJob();
      await installSample(store, { jobId, epoch: 7n, ranges: [{ start: -1n }, { start: 9n }] });
      await store.remove({ jobId, epoch: toOffset(6) });
      expect((await store.snapshot(jobId))?.ranges).toHaveLength(2);
      await store.remove({ jobId, epoch: toOffset(7) });
      expect(await store.snapshot(jobId)).toBeUndefined();
      await store.remove({ jobId, epoch: toOffset(0) });
    });

    it('proposes its ranges by readiness', async () => {
      const jobId = newJob();
      await installSample(store, { jobId, ranges: [{ start: -1n }, { start: 49n }, { start: 74n }] });
      await slotOn(store, { slot: 'a', jobId, range: FIRST }).granted();
      const candidates = await store.candidates({ jobId, limit: 10 });
      expect(candidates.map(({ range }) => range.start)).toEqual([49n, 74n, -1n]);
      expect(candidates.map(({ readyAtMs }) => readyAtMs > Date.now())).toEqual([false, false, true]);
      expect(await store.candidates({ jobId, limit: 1 })).toHaveLength(1);
    });

    it('must have a name that fits into a key', async () => {
      for (const jobId of ['', 'a}b', 'a{b', 'a b', 'x'.repeat(129)])
        await expect(store.snapshot(jobId)).rejects.toMatchObject({ code: 'BAD_JOB_ID' });
    });
  });
}
