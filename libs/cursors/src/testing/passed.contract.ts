/** What every cursor store must keep of lost offsets that a range passes. A part of the contract of a cursor store. */
import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { PASSED_INTERVALS_MAX } from '../limits.ts';
import type { CursorStore } from '../ports.ts';
import { counts, FIRST, FOR_LONG_MS, installSample, interval, parking, rangeOf, slotOn } from './sample-jobs.ts';

export function passedContract(storeOf: () => CursorStore, newJob: () => string): void {
  /** A job of one range, (-1, 99], whose owner has claimed all of it. */
  const claimed = async (end = 99n) => {
    const store = storeOf();
    const jobId = newJob();
    await installSample(store, { jobId, ranges: [{ start: -1n }], end });
    const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
    const token = await a.granted();
    await a.claim(token, end);
    return { store, jobId, a, token };
  };

  describe('lost offsets that are passed', () => {
    it('B1: are kept as exact intervals, beside their count', async () => {
      const { store, jobId, a, token } = await claimed();
      await a.advance(token, -1n, 19n);
      expect(await a.pass(token, 19n, 49n, [interval(20n, 49n)])).toEqual({ kind: 'advanced', end: 99n, done: false });
      expect(await rangeOf(store, jobId)).toMatchObject({
        ...{ cursor: 49n, passed: [{ first: 20n, last: 49n }], lost: [] },
        counters: { ok: 20n, lost: 30n },
      });
      await a.pass(token, 49n, 99n, [interval(60n, 60n), interval(70n, 71n)]);
      expect(await rangeOf(store, jobId)).toMatchObject({
        status: 'done',
        passed: [interval(20n, 49n), interval(60n, 60n), interval(70n, 71n)],
        counters: { ok: 67n, lost: 33n },
      });
    });

    it('are one interval where they touch, whichever came first', async () => {
      const { store, jobId, a, token } = await claimed();
      await a.park(token, -1n, 9n, [parking(8n), parking(9n)]);
      await a.pass(token, 9n, 12n, [interval(10n, 12n)]);
      await a.pass(token, 12n, 14n, [interval(13n, 14n)]);
      expect((await rangeOf(store, jobId)).passed).toEqual([interval(10n, 14n)]);
      expect(await a.lose(token, [interval(8n, 9n)])).toEqual({ kind: 'settled', done: false });
      expect(await rangeOf(store, jobId)).toMatchObject({ passed: [interval(8n, 14n)], counters: { lost: 7n } });
    });

    it('may be parked records, of which the last one ends the range', async () => {
      const { store, jobId, a, token } = await claimed(9n);
      await a.park(token, -1n, 9n, [parking(3n), parking(5n), parking(9n)]);
      await a.settle(token, [5n]);
      expect(await a.lose(token, [interval(3n, 3n), interval(9n, 9n)])).toEqual({ kind: 'settled', done: true });
      expect(await rangeOf(store, jobId)).toMatchObject({
        passed: [interval(3n, 3n), interval(9n, 9n)],
        counters: { ok: 8n, lost: 2n, parked: 0n },
      });
    });

    it('are kept once, however often the call is repeated', async () => {
      const { store, jobId, a, token } = await claimed();
      const call = a.fresh();
      for (let i = 0; i < 3; i += 1) await a.pass(token, -1n, 4n, [interval(2n, 4n)], call);
      expect(await rangeOf(store, jobId)).toMatchObject({ passed: [interval(2n, 4n)], counters: { lost: 3n } });
    });

    it('are not kept of a call that is refused', async () => {
      const { store, jobId, a, token } = await claimed();
      await a.park(token, -1n, 4n, [parking(2n)]);
      const before = await rangeOf(store, jobId);
      await a.pass(token, -1n, 4n, [interval(2n, 4n)]);
      await a.pass('no token', 4n, 9n, [interval(5n, 9n)]);
      await a.lose(token, [interval(2n, 3n)]);
      expect(await rangeOf(store, jobId)).toEqual(before);
    });

    it('come back in a restore, and others are added to them', async () => {
      const store = storeOf();
      const jobId = newJob();
      const passed = [interval(5n, 7n), interval(2n, 3n), interval(8n, 8n)];
      await installSample(store, { jobId, ranges: [{ start: -1n, cursor: 9n, passed }], end: 19n });
      expect(await rangeOf(store, jobId)).toMatchObject({
        passed: [interval(2n, 3n), interval(5n, 8n)],
        counters: { lost: 6n },
      });
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      await a.claim(token, 19n);
      await a.pass(token, 9n, 19n, [interval(10n, 11n)]);
      expect((await rangeOf(store, jobId)).passed).toEqual([interval(2n, 3n), interval(5n, 8n), interval(10n, 11n)]);
      await installSample(store, { jobId, epoch: 2n, ranges: [{ start: -1n, cursor: 1n }], end: 19n });
      expect((await rangeOf(store, jobId)).passed).toEqual([]);
    });

    it('stay with the range that passed them when it is cut', async () => {
      const { store, jobId, a, token } = await claimed(19n);
      await a.pass(token, -1n, 9n, [interval(0n, 9n)]);
      await a.release(token, { untouched: true });
      expect(await store.split({ jobId, range: FIRST, at: toOffset(14n) })).toEqual({ kind: 'split' });
      expect(await rangeOf(store, jobId)).toMatchObject({ end: 14n, passed: [interval(0n, 9n)] });
      expect((await rangeOf(store, jobId, 14n)).passed).toEqual([]);
    });

    it('are only counted when there are too many of them', async () => {
      const { store, jobId, a, token } = await claimed(3_999n);
      const every = Array.from({ length: PASSED_INTERVALS_MAX - 1 }, (_, i) =>
        interval(2n * BigInt(i), 2n * BigInt(i)),
      );
      await a.pass(token, -1n, 1_999n, every);
      const more = [interval(2_001n, 2_001n), interval(2_003n, 2_004n)];
      await a.pass(token, 1_999n, 2_999n, more);
      await a.pass(token, 2_999n, 3_999n, [interval(3_000n, 3_009n)]);
      const { passed, counters } = await rangeOf(store, jobId);
      expect(passed).toEqual([...every, more[0]]);
      expect(counters.lost).toBe(BigInt(PASSED_INTERVALS_MAX) + 2n + 10n);
    });

    it('keep every digit above 2^53', async () => {
      const store = storeOf();
      const jobId = newJob();
      const base = 2n ** 62n + 1n;
      await installSample(store, { jobId, ranges: [{ start: base }], end: base + 9n });
      const a = slotOn(store, { slot: 'a', jobId, range: { partition: 0, start: toOffset(base) } });
      const token = await a.granted();
      await a.claim(token, base + 9n);
      await a.pass(token, base, base + 9n, [interval(base + 2n, base + 4n)]);
      expect((await rangeOf(store, jobId, base)).passed).toEqual([interval(base + 2n, base + 4n)]);
    });

    it.each([
      ['fewer places than are counted', { ok: 4n, lost: 6n }, [interval(0n, 4n)]],
      ['more places than are counted', { ok: 6n, lost: 4n }, [interval(0n, 4n)]],
      ['a place that is not passed', { ok: 8n, lost: 2n }, [interval(9n, 10n)]],
      ['a place from before', { ok: 8n, lost: 2n }, [interval(-1n, 0n)]],
      ['places out of order', { ok: 8n, lost: 2n }, [interval(4n, 4n), interval(2n, 2n)]],
      ['a place twice', { ok: 7n, lost: 3n }, [interval(2n, 3n), interval(3n, 3n)]],
      ['an interval that ends before it begins', { ok: 9n, lost: 1n }, [interval(2n, 3n), interval(5n, 3n)]],
    ])('refuses %s as a bug', async (_, add, passed) => {
      const { store, jobId, a, token } = await claimed();
      const request = { call: a.fresh(), jobId, range: FIRST, token, park: [], leaseTtlMs: FOR_LONG_MS };
      const move = { from: toOffset(-1n), to: toOffset(9n), add: counts(add), passed };
      await expect(store.advance({ ...request, ...move })).rejects.toMatchObject({
        code: 'BAD_CURSOR_CALL',
        class: 'bug',
      });
      expect(await rangeOf(store, jobId)).toMatchObject({ cursor: -1n, passed: [] });
    });

    it.each([
      ['a parked record that is not settled', { lost: 1n, parked: -1n }, [interval(2n, 2n)]],
      ['a span over one that is not settled', { lost: 1n, parked: -1n }, [interval(1n, 2n)]],
      ['a lost record without its place', { lost: 1n, parked: -1n }, []],
      ['a place of one that is done', { ok: 1n, parked: -1n }, [interval(1n, 1n)]],
    ])('refuses to settle %s as a bug', async (_, add, passed) => {
      const { store, jobId, a, token } = await claimed();
      await a.park(token, -1n, 5n, [parking(1n), parking(2n)]);
      const request = { call: a.fresh(), jobId, range: FIRST, token, leaseTtlMs: FOR_LONG_MS, again: [] };
      const call = store.settle({ ...request, settled: [toOffset(1n)], add: counts(add), passed });
      await expect(call).rejects.toMatchObject({ code: 'BAD_CURSOR_CALL', class: 'bug' });
      expect(await rangeOf(store, jobId)).toMatchObject({ passed: [], counters: { parked: 2n, lost: 0n } });
    });
  });
}
