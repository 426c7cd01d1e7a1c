/** What every cursor store must do when a range is leased, moved, given back or ended. A part of the contract of a cursor store. */
import { toOffset } from '@tidemark/keyspace';
import { beforeAll, describe, expect, it } from 'vitest';
import type { CursorStore } from '../ports.ts';
import {
  counts,
  FIRST,
  FOR_LONG_MS,
  installOneRange,
  installSample,
  interval,
  parking,
  rangeOf,
  slotOn,
} from './sample-jobs.ts';

export function rangeContract(storeOf: () => CursorStore, newJob: () => string): void {
  let store: CursorStore;
  beforeAll(() => {
    store = storeOf();
  });
  const oneRange = (): Promise<string> => installOneRange(store, newJob());

  describe('lease', () => {
    it('grants a free range and keeps it from everybody else', async () => {
      const jobId = await oneRange();
      const granted = await slotOn(store, { slot: 'a', jobId, range: FIRST }).lease();
      expect(granted).toEqual({
        kind: 'granted',
        cursor: -1n,
        horizon: -1n,
        end: 99n,
        token: '00000000000000000001:00000000000000000001',
        parkedCount: 0,
      });
      const refused = await slotOn(store, { slot: 'b', jobId, range: FIRST }).lease();
      expect(refused.kind).toBe('busy');
      expect(await rangeOf(store, jobId)).toMatchObject({ owner: 'a', counters: { maybeRedelivered: 0n } });
    });

    it('goes to the next slot when it ran out, with a larger token, and counts what may be delivered again', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const first = await a.granted(0);
      await a.claim(first, 29n);
      await a.advance(first, -1n, 9n, 0);
      const second = await slotOn(store, { slot: 'b', jobId, range: FIRST }).lease();
      expect(second).toMatchObject({ kind: 'granted', cursor: 9n, horizon: 29n });
      expect(second.kind === 'granted' && second.token > first).toBe(true);
      expect((await rangeOf(store, jobId)).counters).toMatchObject({ ok: 10n, maybeRedelivered: 20n });
    });

    it('answers a repeat of the same call with the same grant, even to its own holder', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const call = a.fresh();
      const first = await a.lease(FOR_LONG_MS, call);
      const before = await rangeOf(store, jobId);
      expect(await a.lease(FOR_LONG_MS, call)).toEqual(first);
      expect(await rangeOf(store, jobId)).toEqual(before);
      expect((await a.lease()).kind).toBe('busy');
    });

    it('knows nothing of ranges and jobs that are not there', async () => {
      const jobId = await oneRange();
      const other = slotOn(store, { slot: 'a', jobId, range: { partition: 3, start: toOffset(7n) } });
      expect(await other.lease()).toEqual({ kind: 'closed', status: 'stopped' });
      const nowhere = slotOn(store, { slot: 'a', jobId: newJob(), range: FIRST });
      expect(await nowhere.lease()).toEqual({ kind: 'incomplete' });
    });
  });

  describe('claim', () => {
    it('raises the horizon up to the end of the range, and never lowers it', async () => {
      const jobId = newJob();
      await installSample(store, { jobId, ranges: [{ start: -1n }, { start: 39n }] });
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      expect(await a.claim(token, 19n)).toEqual({ kind: 'claimed', horizon: 19n, end: 39n });
      expect(await a.claim(token, 9n)).toEqual({ kind: 'claimed', horizon: 19n, end: 39n });
      expect(await a.claim(token, 70n)).toEqual({ kind: 'claimed', horizon: 39n, end: 39n });
    });
  });

  describe('advance', () => {
    it('moves the cursor and adds the counters once, however often the call is repeated', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      await a.claim(token, 19n);
      const call = a.fresh();
      for (let i = 0; i < 3; i += 1)
        expect(await a.advance(token, -1n, 9n, FOR_LONG_MS, call)).toEqual({
          kind: 'advanced',
          end: 99n,
          done: false,
        });
      expect(await rangeOf(store, jobId)).toMatchObject({ cursor: 9n, horizon: 19n, counters: { ok: 10n } });
      expect(await a.advance(token, -1n, 9n)).toEqual({ kind: 'cursor moved', cursor: 9n });
    });

    it('is remembered while the slot itself renews and claims beside it', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      await a.claim(token, 19n);
      const call = a.fresh();
      const answer = await a.advance(token, -1n, 9n, FOR_LONG_MS, call);
      await a.renew(token);
      await a.claim(token, 29n);
      expect(await a.advance(token, -1n, 9n, FOR_LONG_MS, call)).toEqual(answer);
      expect((await rangeOf(store, jobId)).counters.ok).toBe(10n);
    });

    it('is remembered while other slots are refused in between', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      await a.claim(token, 19n);
      const call = a.fresh();
      const answer = await a.advance(token, -1n, 9n, FOR_LONG_MS, call);
      const b = slotOn(store, { slot: 'b', jobId, range: FIRST });
      await b.lease();
      await b.advance('no token', 9n, 10n);
      expect(await a.advance(token, -1n, 9n, FOR_LONG_MS, call)).toEqual(answer);
    });

    it('adds every counter to its own', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      await a.claim(token, 99n);
      const terms = {
        ok: 1n,
        skipped: 2n,
        deadLettered: 3n,
        filtered: 4n,
        markers: 5n,
        compacted: 6n,
        lost: 7n,
        parked: 1n,
      };
      const add = counts({ ...terms, retries: 9n, chunks: 10n, maybeRedelivered: 11n });
      const request = { call: a.fresh(), jobId, range: FIRST, token, from: toOffset(-1n), to: toOffset(28n), add };
      const passed = [interval(20n, 26n)];
      await store.advance({ ...request, park: [parking(3n)], passed, leaseTtlMs: FOR_LONG_MS });
      expect((await rangeOf(store, jobId)).counters).toEqual(add);
    });

    it('refuses a place outside (cursor, min(horizon, end)]', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      await a.claim(token, 19n);
      await a.advance(token, -1n, 9n);
      const outOfBounds = { kind: 'out of bounds', horizon: 19n, end: 99n };
      expect(await a.advance(token, 9n, 20n)).toEqual(outOfBounds);
      expect(await a.advance(token, 9n, 9n)).toEqual(outOfBounds);
      expect(await a.advance(token, 9n, 5n)).toEqual(outOfBounds);
    });

    it('gives its verdicts in order: not running, fenced, cursor moved, out of bounds', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      expect((await a.advance('no token', 5n, 500n)).kind).toBe('fenced');
      expect((await a.advance(token, 5n, 500n)).kind).toBe('cursor moved');
      expect((await a.advance(token, -1n, 500n)).kind).toBe('out of bounds');
      await store.setMode({ jobId, mode: 'halted' });
      expect((await a.advance('no token', 5n, 500n)).kind).toBe('not running');
    });

    it('ends the range at exactly its end and gives the lease back', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      await a.claim(token, 99n);
      const call = a.fresh();
      const done = { kind: 'advanced', end: 99n, done: true };
      expect(await a.advance(token, -1n, 99n, FOR_LONG_MS, call)).toEqual(done);
      expect(await rangeOf(store, jobId)).toMatchObject({ status: 'done', owner: '', leaseUntilMs: 0, cursor: 99n });
      expect(await store.candidates({ jobId, limit: 10 })).toEqual([]);
      expect(await a.advance(token, -1n, 99n, FOR_LONG_MS, call)).toEqual(done);
      expect(await a.renew(token)).toEqual({ kind: 'fenced' });
      expect(await a.lease()).toEqual({ kind: 'closed', status: 'done' });
    });

    it('takes the lease up again when it ran out and nobody else came', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted(0);
      await a.claim(token, 19n);
      expect((await a.advance(token, -1n, 9n)).kind).toBe('advanced');
      expect((await slotOn(store, { slot: 'b', jobId, range: FIRST }).lease()).kind).toBe('busy');
    });

    it('refuses counters that do not explain every offset passed', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      const request = {
        call: a.fresh(),
        jobId,
        range: FIRST,
        token,
        from: toOffset(-1n),
        to: toOffset(9n),
        park: [],
        passed: [],
      };
      const add = counts({ ok: 4n, markers: 5n, retries: 1n, chunks: 1n });
      await expect(store.advance({ ...request, add, leaseTtlMs: 1_000 })).rejects.toMatchObject({
        code: 'BAD_CURSOR_CALL',
        class: 'bug',
      });
    });
  });

  describe('renew', () => {
    it('keeps the time since when a note stands, until work goes on', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted(0);
      await a.renew(token, 'waiting: open transaction at 7');
      const noted = await rangeOf(store, jobId);
      expect(noted.note).toBe('waiting: open transaction at 7');
      expect(Math.abs(noted.noteSinceMs - Date.now())).toBeLessThan(60_000);
      await clockPassed(noted.noteSinceMs);
      await a.renew(token, 'waiting: open transaction at 7');
      expect((await rangeOf(store, jobId)).noteSinceMs).toBe(noted.noteSinceMs);
      await a.renew(token, 'waiting: open transaction at 8');
      expect((await rangeOf(store, jobId)).noteSinceMs).toBeGreaterThan(noted.noteSinceMs);
      await a.claim(token, 3n);
      await a.advance(token, -1n, 3n);
      expect(await rangeOf(store, jobId)).toMatchObject({ note: '', noteSinceMs: 0 });
    });
  });

  describe('release', () => {
    it('frees the range, at once or after a delay', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      expect(await a.release(token)).toEqual({ kind: 'released' });
      expect(await a.advance(token, -1n, 9n)).toEqual({ kind: 'fenced' });
      const next = await a.granted();
      expect(next > token).toBe(true);
      await a.release(next, { delayMs: FOR_LONG_MS, note: 'breaker open' });
      const busy = await a.lease();
      expect(busy.kind === 'busy' && busy.readyAtMs > Date.now() + FOR_LONG_MS / 2).toBe(true);
      expect(await rangeOf(store, jobId)).toMatchObject({ note: 'breaker open', owner: '' });
    });

    it('takes the horizon back only for an owner that handed nothing out', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const first = await a.granted();
      await a.claim(first, 19n);
      await a.release(first, { untouched: true });
      const second = await a.granted();
      expect(await rangeOf(store, jobId)).toMatchObject({ horizon: -1n, counters: { maybeRedelivered: 0n } });
      await a.claim(second, 19n);
      await a.release(second, { untouched: false });
      await a.granted();
      expect(await rangeOf(store, jobId)).toMatchObject({ horizon: 19n, counters: { maybeRedelivered: 20n } });
    });
  });

  describe('stop', () => {
    it('closes the range with its reason and the lost offsets', async () => {
      const jobId = await oneRange();
      const a = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const token = await a.granted();
      const lost = [{ first: toOffset(20n), last: toOffset(49n) }];
      expect(await a.stop(token, 'offsets lost', lost)).toEqual({ kind: 'stopped' });
      expect(await rangeOf(store, jobId)).toMatchObject({ status: 'stopped', note: 'offsets lost', lost, owner: '' });
      expect(await a.lease()).toEqual({ kind: 'closed', status: 'stopped' });
      expect(await store.candidates({ jobId, limit: 10 })).toEqual([]);
    });
  });

  describe('a zombie', () => {
    it('P5: gets nothing accepted after somebody else was granted the range', async () => {
      const jobId = await oneRange();
      const zombie = slotOn(store, { slot: 'a', jobId, range: FIRST });
      const old = await zombie.granted(0);
      await zombie.claim(old, 9n);
      const b = slotOn(store, { slot: 'b', jobId, range: FIRST });
      await b.granted();
      const before = await rangeOf(store, jobId);
      const fenced = { kind: 'fenced' };
      expect(await zombie.renew(old)).toEqual(fenced);
      expect(await zombie.claim(old, 50n)).toEqual(fenced);
      expect(await zombie.advance(old, -1n, 9n)).toEqual(fenced);
      expect(await zombie.settle(old, [3n])).toEqual(fenced);
      expect(await zombie.release(old, { untouched: true })).toEqual(fenced);
      expect(await zombie.stop(old)).toEqual(fenced);
      expect((await zombie.lease()).kind).toBe('busy');
      expect(await rangeOf(store, jobId)).toEqual(before);
    });
  });
}

/** Resolves when the clock of this machine, which is the store's too, shows a later millisecond than `ms`. */
async function clockPassed(ms: number): Promise<void> {
  while (Date.now() <= ms + 1) await new Promise((resolve) => setImmediate(resolve));
}
