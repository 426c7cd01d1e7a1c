/** What every schedule must do. Run by the one in Redis and by its twin in memory. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LONGEST_WAITING_TURNS } from '../limits.ts';
import type { Schedule } from '../schedule-ports.ts';
import { FOR_LONG_MS } from './sample-jobs.ts';

export function scheduleContract(name: string, create: () => Promise<Schedule>): void {
  describe(`${name}: the contract of a schedule`, () => {
    let schedule: Schedule;
    beforeEach(async () => {
      schedule = await create();
    });
    afterEach(async () => schedule.close());

    const proposed = async (limit: number): Promise<readonly string[]> =>
      (await schedule.propose({ limit })).jobs.map(({ jobId }) => jobId);
    const enlist = async (...jobs: readonly (readonly [jobId: string, priority: number])[]): Promise<void> => {
      for (const [jobId, priority] of jobs) await schedule.enlist({ jobId, definition: `of ${jobId}`, priority });
    };

    it('serves jobs of one priority in turn', async () => {
      await enlist(['a', 0], ['b', 0], ['c', 0]);
      expect(await proposed(1)).toEqual(['a']);
      expect(await proposed(1)).toEqual(['b']);
      expect(await proposed(1)).toEqual(['c']);
      expect(await proposed(1)).toEqual(['a']);
      expect(await schedule.propose({ limit: 1 })).toEqual({
        jobs: [{ jobId: 'b', definition: 'of b' }],
        listedCount: 3,
      });
    });

    it('serves larger priorities first, negative ones last', async () => {
      await enlist(['low', -5], ['high', 10], ['usual', 0]);
      expect(await proposed(10)).toEqual(['high', 'usual', 'low']);
      expect(await proposed(1)).toEqual(['high']);
      expect(await proposed(1)).toEqual(['high']);
    });

    it('keeps a place for whoever waited longest, so that urgent jobs starve nobody', async () => {
      await enlist(['a', 9], ['b', 9], ['c', 9], ['low-1', 0], ['low-2', 0]);
      const answers = [await proposed(3), await proposed(3), await proposed(3)];
      expect(answers.flat()).toEqual(expect.arrayContaining(['a', 'b', 'c', 'low-1', 'low-2']));
      for (const answer of answers) expect(new Set(answer).size).toBe(3);
    });

    it('gives whoever waited longest a turn, also to those who ask for one job at a time', async () => {
      await enlist(['urgent', 9], ['low-1', 0], ['low-2', 0]);
      const answers: string[] = [];
      for (let turn = 0; turn < 2 * LONGEST_WAITING_TURNS; turn++) answers.push(...(await proposed(1)));
      const urgent = Array.from({ length: LONGEST_WAITING_TURNS - 1 }, () => 'urgent');
      expect(answers).toEqual([...urgent, 'low-1', ...urgent, 'low-2']);
    });

    it('takes a changed definition and priority, keeps the turn, and forgets what is withdrawn', async () => {
      await enlist(['a', 0], ['b', 0]);
      await proposed(1);
      await schedule.enlist({ jobId: 'a', definition: 'new', priority: 0 });
      expect(await schedule.propose({ limit: 5 })).toMatchObject({
        jobs: [
          { jobId: 'b', definition: 'of b' },
          { jobId: 'a', definition: 'new' },
        ],
      });
      await schedule.enlist({ jobId: 'a', definition: 'urgent', priority: 3 });
      expect(await proposed(1)).toEqual(['a']);
      expect([...(await schedule.listed())].sort()).toEqual(['a', 'b']);
      await schedule.withdraw('a');
      expect(await schedule.listed()).toEqual(['b']);
      await schedule.withdraw('a');
      expect(await proposed(5)).toEqual(['b']);
      expect(await proposed(0)).toEqual([]);
    });

    it('says how many jobs are listed, also to one who wants none', async () => {
      expect(await schedule.propose({ limit: 5 })).toEqual({ jobs: [], listedCount: 0 });
      await enlist(['a', 0], ['b', 0], ['c', 0]);
      expect(await schedule.propose({ limit: 2 })).toMatchObject({ jobs: [{}, {}], listedCount: 3 });
      expect(await schedule.propose({ limit: 0 })).toEqual({ jobs: [], listedCount: 3 });
    });

    permitContract(() => schedule);
    rateContract(() => schedule);

    it('remembers who must hurry, for as long as it is said', async () => {
      expect(await schedule.hurried()).toEqual(new Set());
      await schedule.hurry({ jobIds: [], ttlMs: FOR_LONG_MS });
      await schedule.hurry({ jobIds: ['a', 'b'], ttlMs: FOR_LONG_MS });
      await schedule.hurry({ jobIds: ['b', 'c'], ttlMs: 0 });
      expect(await schedule.hurried()).toEqual(new Set(['a']));
      await schedule.hurry({ jobIds: ['b'], ttlMs: FOR_LONG_MS });
      expect(await schedule.hurried()).toEqual(new Set(['a', 'b']));
      // Nothing is listed by it, and the list is as it was.
      expect(await proposed(5)).toEqual([]);
      await schedule.withdraw('a');
      expect(await schedule.hurried()).toEqual(new Set(['b']));
      await expect(schedule.hurry({ jobIds: ['a b'], ttlMs: FOR_LONG_MS })).rejects.toThrow('a b');
    });

    it('lists the workers with the time of their last word', async () => {
      const worker = { workerId: 'w1', host: 'h', pid: 7, handlers: [{ name: 'count', idempotent: true }] };
      await schedule.announce(worker);
      await schedule.announce({ ...worker, pid: 8 });
      const { nowMs, workers } = await schedule.workers();
      expect(workers).toEqual([{ ...worker, pid: 8, atMs: expect.any(Number) }]);
      expect(nowMs - (workers[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(0);
      expect(nowMs - (workers[0]?.atMs ?? 0)).toBeLessThan(60_000);
    });

    it('wakes every listener until it is taken off', async () => {
      const heard: string[] = [];
      let tell = (): void => {};
      const told = new Promise<void>((resolve) => {
        tell = resolve;
      });
      const takeOff = await schedule.onWake(() => heard.push('first'));
      await takeOff();
      await schedule.onWake(() => {
        heard.push('second');
        tell();
      });
      await schedule.wake();
      await told;
      expect(heard).toEqual(['second']);
    });
  });
}

function permitContract(scheduleOf: () => Schedule): void {
  const ask = (jobId: string, slot: string, some: { jobMax?: number; allMax?: number; ttlMs?: number } = {}) =>
    scheduleOf().permit({ jobId, slot, jobMax: 0, allMax: 0, ttlMs: FOR_LONG_MS, ...some });
  const waitingFor = async (jobId: string): Promise<string | undefined> =>
    (await scheduleOf().waiting()).get(jobId)?.reason;
  const granted = { kind: 'granted' };

  describe('a permit', () => {
    it('goes to as many slots of a job as may work on it at once, and again to one that holds it', async () => {
      const jobMax = 2;
      expect(await ask('a', 's1', { jobMax })).toEqual(granted);
      expect(await ask('a', 's2', { jobMax })).toEqual(granted);
      expect(await ask('a', 's3', { jobMax })).toEqual({ kind: 'full', scope: 'job' });
      expect(await ask('a', 's2', { jobMax })).toEqual(granted);
      expect(await ask('b', 's3', { jobMax })).toEqual(granted);
      await scheduleOf().returnPermit({ jobId: 'a', slot: 's1' });
      await scheduleOf().returnPermit({ jobId: 'a', slot: 's1' });
      expect(await ask('a', 's3', { jobMax })).toEqual(granted);
      expect(await ask('a', 's1', { jobMax })).toEqual({ kind: 'full', scope: 'job' });
    });

    it('counts the slots of all jobs, whether or not their own job has a limit', async () => {
      const allMax = 2;
      expect(await ask('a', 's1')).toEqual(granted);
      expect(await ask('b', 's1', { allMax })).toEqual(granted);
      expect(await ask('c', 's2', { allMax, jobMax: 5 })).toEqual({ kind: 'full', scope: 'all' });
      expect(await ask('b', 's1', { allMax })).toEqual(granted);
      await scheduleOf().returnPermit({ jobId: 'a', slot: 's1' });
      expect(await ask('c', 's2', { allMax, jobMax: 5 })).toEqual(granted);
    });

    it('has no limit where none is set', async () => {
      for (const slot of ['s1', 's2', 's3']) expect(await ask('a', slot)).toEqual(granted);
    });

    it('ends by itself when it is not asked for again', async () => {
      expect(await ask('a', 's1', { jobMax: 1, allMax: 1, ttlMs: 0 })).toEqual(granted);
      expect(await ask('a', 's2', { jobMax: 1, allMax: 1 })).toEqual(granted);
      expect(await ask('a', 's1', { jobMax: 1 })).toEqual({ kind: 'full', scope: 'job' });
    });

    it('is noted as what a job waits for when it is refused, until one is granted', async () => {
      await ask('a', 's1', { jobMax: 1 });
      expect(await waitingFor('a')).toBeUndefined();
      await ask('a', 's2', { jobMax: 1 });
      const { reason, atMs } = (await scheduleOf().waiting()).get('a') ?? {};
      expect(reason).toBe('permit');
      expect(Math.abs((atMs ?? 0) - Date.now())).toBeLessThan(60_000);
      await ask('a', 's1', { jobMax: 1 });
      expect(await waitingFor('a')).toBeUndefined();
    });

    it('and every note go with a job that is withdrawn', async () => {
      await ask('a', 's1', { jobMax: 1 });
      await ask('b', 's2', { jobMax: 1 });
      await scheduleOf().noteWaiting({ jobId: 'a', reason: 'breaker mail server' });
      await scheduleOf().noteWaiting({ jobId: 'b', reason: 'breaker sms' });
      expect(await waitingFor('a')).toBe('breaker mail server');
      await scheduleOf().withdraw('a');
      expect([...(await scheduleOf().waiting()).keys()]).toEqual(['b']);
      expect(await ask('c', 's3', { allMax: 2 })).toEqual(granted);
      expect(await ask('a', 's4', { jobMax: 1, allMax: 2 })).toEqual({ kind: 'full', scope: 'all' });
    });
  });
}

function rateContract(scheduleOf: () => Schedule): void {
  /** One record in 1,000 s: what the test itself takes is far below the differences that it looks at. */
  const SLOW = 0.001;
  const LEEWAY_MS = 500_000;
  const book = async (bucket: string, records = 1, waitMsMax?: number): Promise<number> => {
    const limit = waitMsMax === undefined ? {} : { waitMsMax };
    return (await scheduleOf().bookRate({ bucket, perSecond: SLOW, records, ...limit })).waitMs;
  };
  const expectAbout = (waitMs: number, atMostMs: number): void => {
    expect(waitMs).toBeLessThanOrEqual(atMostMs);
    expect(waitMs).toBeGreaterThan(atMostMs - LEEWAY_MS);
  };

  describe('a shared rate', () => {
    it('lets bookings follow one another, after a credit of one second', async () => {
      expect(await book('job:a')).toBe(0);
      expectAbout(await book('job:a', 2), 999_000);
      expectAbout(await book('job:a'), 2_999_000);
      expect(await book('handler:a')).toBe(0);
    });

    it('owes nothing for a booking that would wait too long', async () => {
      await book('job:a');
      expectAbout(await book('job:a', 5, 100_000), 999_000);
      expectAbout(await book('job:a', 1, 1_000_000), 999_000);
      expectAbout(await book('job:a', 1), 1_999_000);
    });

    it('is not waited for while it is higher than what is booked', async () => {
      for (let i = 0; i < 5; i += 1)
        expect(await scheduleOf().bookRate({ bucket: 'fast', perSecond: 1_000_000, records: 100_000 })).toEqual({
          waitMs: 0,
        });
    });

    it('is a number above 0, of whole records', async () => {
      for (const wrong of [
        { perSecond: 0, records: 1 },
        { perSecond: Number.NaN, records: 1 },
        { perSecond: 1, records: 0.5 },
        { perSecond: 1, records: -1 },
      ])
        await expect(scheduleOf().bookRate({ bucket: 'x', ...wrong })).rejects.toMatchObject({ class: 'bug' });
    });
  });
}
