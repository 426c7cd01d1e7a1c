/** What every cursor store must do with parked records. A part of the contract of a cursor store. */
import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import type { CursorStore } from '../ports.ts';
import { counts, FIRST, FOR_LONG_MS, installSample, parking, rangeOf, slotOn } from './sample-jobs.ts';

const OFFSETS = { park: [] as const, passed: [], from: toOffset(-1n), to: toOffset(9n), leaseTtlMs: FOR_LONG_MS };

export function parkedContract(storeOf: () => CursorStore, newJob: () => string): void {
  /** A job of one range, (-1, 9], whose owner has claimed all of it. */
  const claimed = async () => {
    const store = storeOf();
    const jobId = newJob();
    await installSample(store, { jobId, ranges: [{ start: -1n }], end: 9n });
    const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
    const token = await a.granted();
    await a.claim(token, 9n);
    return { store, jobId, a, token };
  };

  describe('parking', () => {
    it('passes a record that is not settled, and keeps it with what is known of it', async () => {
      const { store, jobId, a, token } = await claimed();
      const park = [
        parking(3n, { attempt: 0, faultClass: 'queued', keyHash: 'fedcba9876543210', delayMs: FOR_LONG_MS }),
        parking(1n, { attempt: 3, faultClass: 'timeout', keyHash: 'fedcba9876543210' }),
      ];
      expect(await a.park(token, -1n, 4n, park)).toEqual({ kind: 'advanced', end: 9n, done: false });
      const state = await rangeOf(store, jobId);
      expect(state).toMatchObject({ cursor: 4n, status: 'open', owner: 'a', counters: { ok: 3n, parked: 2n } });
      expect(state.parked).toEqual([
        { offset: 1n, attempt: 3, faultClass: 'timeout', keyHash: 'fedcba9876543210', dueAtMs: expect.any(Number) },
        { offset: 3n, attempt: 0, faultClass: 'queued', keyHash: 'fedcba9876543210', dueAtMs: expect.any(Number) },
      ]);
      expect(state.parked[1]?.dueAtMs).toBe((state.parked[0]?.dueAtMs ?? 0) + FOR_LONG_MS);
      expect(Math.abs((state.parked[0]?.dueAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
      const parked = await a.parked();
      expect(parked?.map(({ offset, attempt }) => [offset, attempt])).toEqual([
        [1n, 3],
        [3n, 0],
      ]);
      const [due, later] = parked?.map(({ dueInMs }) => dueInMs) ?? [];
      expect(due).toBeLessThanOrEqual(0);
      expect(due).toBeGreaterThan(-60_000);
      expect(later).toBe((due ?? 0) + FOR_LONG_MS);
    });

    it('adds to what is parked already, and acts once however often the call is repeated', async () => {
      const { store, jobId, a, token } = await claimed();
      await a.park(token, -1n, 1n, [parking(1n)]);
      const call = a.fresh();
      const first = await a.park(token, 1n, 3n, [parking(2n)], call);
      const before = await rangeOf(store, jobId);
      expect(before.parked.map(({ offset }) => offset)).toEqual([1n, 2n]);
      expect(await a.park(token, 1n, 3n, [parking(2n)], call)).toEqual(first);
      expect(await rangeOf(store, jobId)).toEqual(before);
    });

    it('keeps a range open and held at its end, until the last record is settled', async () => {
      const { store, jobId, a, token } = await claimed();
      expect(await a.park(token, -1n, 9n, [parking(2n), parking(9n)])).toEqual({
        kind: 'advanced',
        end: 9n,
        done: false,
      });
      expect(await rangeOf(store, jobId)).toMatchObject({ status: 'open', owner: 'a', cursor: 9n });
      expect(await store.candidates({ jobId, limit: 9 })).toHaveLength(1);
      expect(await a.settle(token, [9n])).toEqual({ kind: 'settled', done: false });
      expect(await a.settle(token, [2n])).toEqual({ kind: 'settled', done: true });
      expect(await rangeOf(store, jobId)).toMatchObject({
        ...{ status: 'done', owner: '', leaseUntilMs: 0, parked: [] },
        counters: { ok: 10n, parked: 0n },
      });
      expect(await store.candidates({ jobId, limit: 9 })).toEqual([]);
      expect(await a.lease()).toEqual({ kind: 'closed', status: 'done' });
      expect(await a.renew(token)).toEqual({ kind: 'fenced' });
    });

    it('tells the next owner how many there are, and counts them as maybe repeated only when nobody knows', async () => {
      const { store, jobId, a, token } = await claimed();
      await a.park(token, -1n, 9n, [parking(2n), parking(3n)]);
      await a.release(token);
      const b = slotOn(store, { slot: 'b', jobId, range: FIRST });
      expect(await b.lease(0)).toMatchObject({ kind: 'granted', parkedCount: 2 });
      expect((await rangeOf(store, jobId)).counters.maybeRedelivered).toBe(0n);
      // b said nothing: its retries may have been done.
      expect(await a.lease()).toMatchObject({ kind: 'granted', parkedCount: 2 });
      expect((await rangeOf(store, jobId)).counters.maybeRedelivered).toBe(2n);
    });

    it('stays with a range that is stopped', async () => {
      const { store, jobId, a, token } = await claimed();
      await a.park(token, -1n, 4n, [parking(2n)]);
      expect(await a.stop(token)).toEqual({ kind: 'stopped' });
      expect(await rangeOf(store, jobId)).toMatchObject({ status: 'stopped', parked: [{ offset: 2n }] });
    });

    it.each([
      ['counters that leave a parked record out', { ok: 10n }, [parking(3n)]],
      ['a counter without a record', { ok: 9n, parked: 1n }, []],
      ['a record that is not passed', { ok: 9n, parked: 1n }, [parking(10n)]],
      ['a record from before', { ok: 9n, parked: 1n }, [parking(-1n)]],
      ['a record twice', { ok: 8n, parked: 2n }, [parking(3n), parking(3n)]],
      ['terms that do not sum up', { ok: 10n, parked: 1n }, [parking(3n)]],
      ['a delay that is no duration', { ok: 9n, parked: 1n }, [parking(3n, { delayMs: -1 })]],
      ['a class of two words', { ok: 9n, parked: 1n }, [parking(3n, { faultClass: 'not one' })]],
      ['a key instead of its hash', { ok: 9n, parked: 1n }, [parking(3n, { keyHash: 'customer 7' })]],
      ['half an attempt', { ok: 9n, parked: 1n }, [parking(3n, { attempt: 0.5 })]],
    ])('refuses %s as a bug', async (_, add, park) => {
      const { store, jobId, a, token } = await claimed();
      const request = { ...OFFSETS, call: a.fresh(), jobId, range: FIRST, token, add: counts(add), park };
      await expect(store.advance(request)).rejects.toMatchObject({ code: 'BAD_CURSOR_CALL', class: 'bug' });
      expect(await rangeOf(store, jobId)).toMatchObject({ cursor: -1n, parked: [] });
    });
  });

  describe('settle', () => {
    it('takes records out and parks others again; the note stays while the owner goes on waiting', async () => {
      const { store, jobId, a, token } = await claimed();
      await a.park(token, -1n, 5n, [parking(1n), parking(2n), parking(3n)]);
      await a.renew(token, 'waiting: too many parked records');
      const noted = await rangeOf(store, jobId);
      const again = [parking(3n, { attempt: 2, faultClass: 'timeout', delayMs: FOR_LONG_MS })];
      expect(await a.settle(token, [1n], again)).toEqual({ kind: 'settled', done: false });
      const state = await rangeOf(store, jobId);
      expect(state.parked.map(({ offset, attempt, faultClass }) => [offset, attempt, faultClass])).toEqual([
        [2n, 1, 'transient'],
        [3n, 2, 'timeout'],
      ]);
      expect(state.parked[1]?.dueAtMs).toBeGreaterThan(Date.now() + FOR_LONG_MS / 2);
      expect(state).toMatchObject({ cursor: 5n, counters: { ok: 4n, parked: 2n, retries: 1n } });
      expect(state).toMatchObject({ note: noted.note, noteSinceMs: noted.noteSinceMs, version: noted.version + 1n });
    });

    it('acts once however often the call is repeated', async () => {
      const { store, jobId, a, token } = await claimed();
      await a.park(token, -1n, 9n, [parking(1n)]);
      const call = a.fresh();
      const done = { kind: 'settled', done: true };
      for (let i = 0; i < 3; i += 1) expect(await a.settle(token, [1n], [], call)).toEqual(done);
      expect((await rangeOf(store, jobId)).counters).toMatchObject({ ok: 10n, parked: 0n });
    });

    it('changes nothing at all when one of the records is not parked', async () => {
      const { store, jobId, a, token } = await claimed();
      await a.park(token, -1n, 5n, [parking(1n), parking(2n)]);
      const before = await rangeOf(store, jobId);
      expect(await a.settle(token, [1n, 4n])).toEqual({ kind: 'not parked', offset: 4n });
      expect(await a.settle(token, [1n], [parking(2n), parking(6n)])).toEqual({ kind: 'not parked', offset: 6n });
      expect(await rangeOf(store, jobId)).toEqual(before);
    });

    it('gives its verdicts in order: not running, fenced, not parked', async () => {
      const { store, jobId, a, token } = await claimed();
      expect((await a.settle('no token', [4n])).kind).toBe('fenced');
      expect((await a.settle(token, [4n])).kind).toBe('not parked');
      await store.setMode({ jobId, mode: 'halted' });
      expect((await a.settle('no token', [4n])).kind).toBe('not running');
    });

    it('takes the lease up again when it ran out and nobody else came', async () => {
      const { store, jobId, a, token } = await claimed();
      await a.park(token, -1n, 5n, [parking(1n)]);
      await a.renew(token, '', 0);
      expect(await a.settle(token, [1n])).toEqual({ kind: 'settled', done: false });
      expect((await slotOn(store, { slot: 'b', jobId, range: FIRST }).lease()).kind).toBe('busy');
    });

    it.each([
      ['a record that nothing explains', { parked: -1n }, [1n], []],
      ['an explanation without a record', { ok: 1n, parked: -1n }, [], []],
      ['a record twice', { ok: 2n, parked: -2n }, [1n, 1n], []],
      ['a record that is settled and parked again', { ok: 1n, parked: -1n }, [1n], [parking(1n)]],
      ['counters that fall', { ok: 2n, skipped: -1n, parked: -1n }, [1n], []],
      ['more parked records', { parked: 1n, ok: -1n }, [], []],
    ])('refuses %s as a bug', async (_, add, settled, again) => {
      const { store, jobId, a, token } = await claimed();
      await a.park(token, -1n, 5n, [parking(1n)]);
      const request = { call: a.fresh(), jobId, range: FIRST, token, leaseTtlMs: FOR_LONG_MS, again, passed: [] };
      const call = store.settle({ ...request, settled: settled.map(toOffset), add: counts(add) });
      await expect(call).rejects.toMatchObject({ code: 'BAD_CURSOR_CALL', class: 'bug' });
      expect(await rangeOf(store, jobId)).toMatchObject({ parked: [{ offset: 1n }], counters: { parked: 1n } });
    });
  });

  describe('parked records in a restore', () => {
    it('E4: come back with the range, which stays open at its end for them', async () => {
      const store = storeOf();
      const jobId = newJob();
      const ranges = [{ start: -1n, cursor: 9n, parked: [7n, 3n] }];
      await installSample(store, { jobId, epoch: 4n, ranges, end: 9n });
      expect(await rangeOf(store, jobId)).toMatchObject({
        status: 'open',
        parked: [
          { offset: 3n, attempt: 1, dueAtMs: 1_000, faultClass: 'transient', keyHash: '' },
          { offset: 7n, attempt: 1, dueAtMs: 1_000, faultClass: 'transient', keyHash: '' },
        ],
      });
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const lease = await a.lease();
      expect(lease).toMatchObject({ kind: 'granted', cursor: 9n, parkedCount: 2 });
      // Another life may have settled them after the checkpoint.
      expect((await rangeOf(store, jobId)).counters.maybeRedelivered).toBe(2n);
      const token = lease.kind === 'granted' ? lease.token : '';
      expect(await a.settle(token, [3n, 7n])).toEqual({ kind: 'settled', done: true });
      await installSample(store, { jobId, epoch: 5n, ranges: [{ start: -1n, cursor: 3n }], end: 9n });
      expect(await a.parked()).toEqual([]);
    });

    it('are many, more than one slice', async () => {
      const store = storeOf();
      const jobId = newJob();
      const ranges = Array.from({ length: 30 }, (_, i) => {
        const start = BigInt(i) * 100n - 1n;
        return { start, cursor: start + 99n, parked: Array.from({ length: 99 }, (__, j) => start + 1n + BigInt(j)) };
      });
      await installSample(store, { jobId, ranges, end: 2_999n });
      const snapshot = await store.snapshot(jobId);
      expect(snapshot?.ranges.map(({ parked }) => parked.map(({ offset }) => offset))).toEqual(
        ranges.map(({ parked }) => parked),
      );
    });
  });

  it('parked records of a job that is not there are unknown, not none', async () => {
    const store = storeOf();
    const jobId = newJob();
    expect(await store.parked({ jobId, range: FIRST })).toBeUndefined();
    await installSample(store, { jobId, ranges: [{ start: -1n }] });
    expect(await store.parked({ jobId, range: FIRST })).toEqual([]);
    expect(await store.parked({ jobId, range: { partition: 7, start: FIRST.start } })).toBeUndefined();
  });

  it('keeps every digit of parked offsets above 2^53', async () => {
    const store = storeOf();
    const jobId = newJob();
    const base = 2n ** 62n + 1n;
    const range = { partition: 0, start: toOffset(base) };
    await installSample(store, { jobId, ranges: [{ start: base }], end: base + 9n });
    const a = slotOn(store, { slot: 'a', jobId, range });
    const token = await a.granted();
    await a.claim(token, base + 9n);
    await a.park(token, base, base + 9n, [parking(base + 2n), parking(base + 4n)]);
    expect(await a.settle(token, [base + 3n])).toEqual({ kind: 'not parked', offset: base + 3n });
    expect(await a.settle(token, [base + 2n], [parking(base + 4n)])).toEqual({ kind: 'settled', done: false });
    expect((await a.parked())?.map(({ offset }) => offset)).toEqual([base + 4n]);
  });
}
