/** What every hint of who leads must do. Run by the one in Redis and by its twin in memory. */
import { sleep } from '@tidemark/keyspace';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Leadership } from '../leadership.ts';
import { FOR_LONG_MS } from './sample-jobs.ts';

export function leadershipContract(name: string, create: () => Promise<Leadership>): void {
  describe(`${name}: the contract of a leadership`, () => {
    let leadership: Leadership;
    beforeEach(async () => {
      leadership = await create();
    });
    afterEach(() => leadership.close());
    const ask = (candidate: string, ttlMs = FOR_LONG_MS, role = 'a role') =>
      leadership.lead({ role, candidate, ttlMs });

    it('goes to whoever asks first, again and again, and tells the others who leads and for how long', async () => {
      expect(await ask('host/1')).toEqual({ kind: 'leading' });
      expect(await ask('host/1')).toEqual({ kind: 'leading' });
      const answer = await ask('host/2');
      expect(answer).toMatchObject({ kind: 'led', leader: 'host/1' });
      expect(answer.kind === 'led' && answer.remainingMs).toBeGreaterThan(FOR_LONG_MS / 2);
      expect(answer.kind === 'led' && answer.remainingMs).toBeLessThanOrEqual(FOR_LONG_MS);
    });

    it('of twenty that ask at once one leads', async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => ask(`host/${index}`)));
      expect(answers.filter(({ kind }) => kind === 'leading')).toHaveLength(1);
    });

    it('ends when its leader is silent', async () => {
      await ask('host/1', 50);
      // The clock is the store's, so time has to pass.
      while ((await ask('host/2')).kind !== 'leading') await sleep(5);
      expect(await ask('host/1')).toMatchObject({ kind: 'led', leader: 'host/2' });
    });

    it('is given up by its leader, and by nobody else', async () => {
      await ask('host/1');
      await leadership.resign({ role: 'a role', candidate: 'host/2' });
      expect((await ask('host/2')).kind).toBe('led');
      await leadership.resign({ role: 'a role', candidate: 'host/1' });
      expect((await ask('host/2')).kind).toBe('leading');
    });

    it('is one for each role', async () => {
      expect((await ask('host/1')).kind).toBe('leading');
      expect((await ask('host/2', FOR_LONG_MS, 'another')).kind).toBe('leading');
    });
  });
}
