/** Several distributors of one installation: one works, the others wait. */
import type { Leadership } from '@tidemark/cursors';
import { waitFor } from '@tidemark/testkit';
import { describe, expect, it } from 'vitest';
import type { Distributor, DistributorOptions } from '../distributor.ts';
import type { Rig } from './rig.ts';
import { numbers, type RigOf } from './scenario-looks.ts';

/** A replica asks each third of it. */
const TTL_MS = 300;
/** Longer than any machine holds a process up: a lease runs out only when the test says so. */
const LEASE_MS = 600_000;

/** A leadership that counts how often it was asked, and that a dead process asks no more. */
function watched(rig: Rig) {
  const { leadership } = rig.parts;
  const seen = { asked: 0, candidate: '', isDead: false, leaseMs: LEASE_MS };
  const port: Leadership = {
    ...leadership,
    lead: (request) => {
      if (seen.isDead) return Promise.reject(new Error('a dead process asks nobody'));
      seen.asked += 1;
      seen.candidate = request.candidate;
      return leadership.lead({ ...request, ttlMs: seen.leaseMs });
    },
  };
  return { seen, port };
}

async function replica(rig: Rig, options: Partial<DistributorOptions> = {}) {
  const { seen, port } = watched(rig);
  const distributor = await rig.start({ leadership: port, leadershipTtlMs: TTL_MS, ...options });
  return { distributor, seen };
}

const works = (distributor: Distributor) => waitFor('it to work', async () => distributor.phase === 'running');
const rests = (distributor: Distributor) => waitFor('it to rest', async () => distributor.phase === 'standby');

async function aJobIsServed(rig: Rig): Promise<void> {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, numbers(5));
  const jobId = await rig.request({ topic });
  await rig.settleAll(jobId);
  expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', reason: 'clean' });
}

export function replicaScenarios(where: string, rigOf: RigOf): void {
  describe(`replicas (${where})`, () => {
    it('while both live, the one that works is not disturbed', async () => {
      const rig = rigOf();
      const active = await replica(rig);
      const standby = await replica(rig);
      expect([active.distributor.phase, standby.distributor.phase]).toEqual(['running', 'standby']);
      const epoch = await epochOf(rig);
      await aJobIsServed(rig);
      // Three times as long as its lease would be, both.
      await waitFor('both to have asked often', async () => active.seen.asked >= 9 && standby.seen.asked >= 9);
      await aJobIsServed(rig);
      expect([active.distributor.phase, standby.distributor.phase]).toEqual(['running', 'standby']);
      expect(await epochOf(rig)).toBe(epoch);
    });

    it('a standby takes over when the active one stops, and the jobs go on', async () => {
      const rig = rigOf();
      const active = await replica(rig);
      const standby = await replica(rig);
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(5));
      const jobId = await rig.request({ topic });
      await rig.definition(jobId);
      await active.distributor.stop('a test');
      await works(standby.distributor);
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', reason: 'clean' });
    });

    it('a standby takes over from one that died within its lease; that one, if it wakes, waits and takes over in turn', async () => {
      const rig = rigOf();
      const first = watched(rig);
      const frozen = await rig.startFrozenAt('job.committed', { leadership: first.port, leadershipTtlMs: TTL_MS });
      const second = await replica(rig);
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(5));
      const jobId = await rig.request({ topic });
      await frozen.frozen;
      // The last lease that it gets.
      first.seen.leaseMs = TTL_MS;
      const asking = first.seen.asked;
      await waitFor('it to ask once more', async () => first.seen.asked > asking);
      first.seen.isDead = true;
      await works(second.distributor);
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED' });

      first.seen.leaseMs = LEASE_MS;
      first.seen.isDead = false;
      frozen.release();
      await rests(frozen.distributor);
      const { asked } = first.seen;
      await waitFor('it to ask again and again', async () => first.seen.asked >= asked + 6);
      expect([frozen.distributor.phase, second.distributor.phase]).toEqual(['standby', 'running']);
      await second.distributor.stop('a test');
      await works(frozen.distributor);
      await aJobIsServed(rig);
    });

    it('one that is fenced while it opens its first session stands by', async () => {
      const rig = rigOf();
      const gate = Promise.withResolvers<void>();
      const opening = Promise.withResolvers<void>();
      const late = watched(rig);
      late.seen.leaseMs = TTL_MS;
      const starting = rig.start({
        leadership: late.port,
        leadershipTtlMs: TTL_MS,
        onStep: async (at) => {
          if (at !== 'restore.begun') return;
          opening.resolve();
          await gate.promise;
        },
      });
      await opening.promise;
      late.seen.isDead = true;
      const first = await replica(rig);
      await works(first.distributor);
      late.seen.leaseMs = LEASE_MS;
      late.seen.isDead = false;
      gate.resolve();
      const fenced = await starting;
      await rests(fenced);
      await aJobIsServed(rig);
      expect([first.distributor.phase, fenced.phase]).toEqual(['running', 'standby']);
    });

    it('a lost hint costs one change at most: the two do not take turns', async () => {
      const rig = rigOf();
      const first = await replica(rig);
      const second = await replica(rig);
      const before = await epochOf(rig);
      // As a store that was emptied, with the standby the first to ask.
      const { leadership } = rig.parts;
      await waitFor('the standby to lead', async () => {
        await leadership.resign({ role: 'distributor.0', candidate: first.seen.candidate });
        const { candidate } = second.seen;
        return (await leadership.lead({ role: 'distributor.0', candidate, ttlMs: LEASE_MS })).kind === 'leading';
      });
      await works(second.distributor);
      await aJobIsServed(rig);
      await rests(first.distributor);
      const { asked } = first.seen;
      await waitFor('the fenced one to ask often', async () => first.seen.asked >= asked + 4);
      expect([first.distributor.phase, second.distributor.phase]).toEqual(['standby', 'running']);
      expect((await epochOf(rig)) > before).toBe(true);
      const after = await epochOf(rig);
      await aJobIsServed(rig);
      expect(await epochOf(rig)).toBe(after);
    });
  });
}

/** Of the newest job in the store: each session fills it under another one. */
async function epochOf(rig: Rig): Promise<bigint> {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, numbers(1));
  const jobId = await rig.request({ topic });
  await rig.ranges(jobId);
  const epoch = (await rig.parts.store.snapshot(jobId))?.epoch;
  await rig.settleAll(jobId);
  await rig.ended(jobId);
  return epoch ?? -1n;
}
