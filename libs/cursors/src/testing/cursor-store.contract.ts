/** What every cursor store must do. Run by the one in Redis and by its twin in memory. */
import { toOffset } from '@tidemark/keyspace';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CursorStore } from '../ports.ts';
import { jobContract } from './job.contract.ts';
import { parkedContract } from './parked.contract.ts';
import { passedContract } from './passed.contract.ts';
import { rangeContract } from './range.contract.ts';
import { installSample, rangeOf, slotOn } from './sample-jobs.ts';
import { splitContract } from './split.contract.ts';

const BEYOND_DOUBLE = 2n ** 53n;

export function cursorStoreContract(name: string, create: () => Promise<CursorStore>): void {
  describe(`${name}: the contract of a cursor store`, () => {
    let store: CursorStore;
    let jobs = 0;
    const newJob = (): string => {
      jobs += 1;
      return `job-${jobs}`;
    };
    beforeAll(async () => {
      store = await create();
    });
    afterAll(async () => store.close());

    rangeContract(() => store, newJob);
    jobContract(() => store, newJob);
    parkedContract(() => store, newJob);
    passedContract(() => store, newJob);
    splitContract(() => store, newJob);

    it('keeps every digit of offsets and epochs above 2^53, in every operation', async () => {
      const base = BEYOND_DOUBLE * 512n; // 2^62
      const jobId = newJob();
      const range = { partition: 0, start: toOffset(base + 1n) };
      const epoch = BEYOND_DOUBLE + 1n;
      await installSample(store, {
        jobId,
        epoch,
        ranges: [{ start: base + 1n }, { start: base + 9n }],
        end: base + 11n,
      });
      const a = slotOn(store, { slot: 'a', jobId, range });
      const lease = await a.lease(0);
      expect(lease).toMatchObject({ cursor: base + 1n, end: base + 9n, token: `0000${epoch}:00000000000000000001` });
      const token = lease.kind === 'granted' ? lease.token : '';
      expect(await a.claim(token, base + 4n)).toEqual({ kind: 'claimed', horizon: base + 4n, end: base + 9n });
      expect(await a.advance(token, base, base + 3n)).toEqual({ kind: 'cursor moved', cursor: base + 1n });
      expect((await a.advance(token, base + 1n, base + 5n)).kind).toBe('out of bounds');
      expect((await a.advance(token, base + 1n, base + 3n, 0)).kind).toBe('advanced');
      expect((await a.renew(token, '', 0)).kind).toBe('renewed');
      expect((await a.release(token)).kind).toBe('released');
      const again = await a.granted();
      expect(again).toBe(`0000${epoch}:00000000000000000002`);
      const lost = [{ first: toOffset(base + 4n), last: toOffset(base + 5n) }];
      expect((await a.stop(again, 'lost', lost)).kind).toBe('stopped');
      expect(await rangeOf(store, jobId, base + 1n)).toMatchObject({
        cursor: base + 3n,
        horizon: base + 4n,
        lost,
        counters: { ok: 2n, maybeRedelivered: 1n },
      });
      const stale = await installSample(store, { jobId, epoch: epoch - 1n, ranges: [{ start: base + 1n }] });
      expect(stale).toEqual({ kind: 'stale epoch', epoch });
    });
  });
}
