/** Jobs that come while the guard cuts, and a store that was lost and comes back. */
import type { DistributorOptions } from '@tidemark/distributor';
import { toOffset } from '@tidemark/keyspace';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GuardRig, RigOf } from './guard-rig.ts';

export function arrivalScenarios(where: string, rigOf: RigOf): void {
  describe(`jobs that come to a guarded log (${where})`, () => {
    it('a reservation at the log start holds it until it has run out, and not longer', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 50);
      await rig.distribute();
      await rig.finish(await rig.submit({ topic }));
      const { topicId } = await rig.describe(topic);
      // Its pin was refused, or its distributor died before anything was durable: nobody will ever drop it.
      const orphan = { place: { topic, topicId, partition: 0 }, holder: 'orphan', offset: toOffset(0n) };
      await rig.parts.floors.reserve({ ...orphan, ttlMs: 60_000 });
      expect((await rig.cycle(topic)).partitions).toMatchObject([{ outcome: 'held', floor: 0n, holder: 'orphan' }]);
      expect(await rig.logStarts(topic)).toEqual([0n]);
      await rig.parts.floors.reserve({ ...orphan, ttlMs: 1 });
      await rig.until('the cut behind the reservation', async () => {
        const { partitions } = await rig.cycle(topic);
        return partitions.some(
          ({ outcome, cutOffsets, holder }) => outcome === 'cut' && cutOffsets === 50n && holder === undefined,
        );
      });
      expect(await rig.logStarts(topic)).toEqual([50n]);
      await rig.floorsAre(topic, [undefined]);
    });

    it('a new job begins where the log begins', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 50);
      await rig.distribute();
      await rig.finish(await rig.submit({ topic, to: '0:29' }));
      const held = await rig.submit({ topic, from: '0:30', to: '0:39' });
      expect(await rig.outcomes(topic)).toEqual(['cut']);
      const next = await rig.submit({ topic });
      const { pin } = await rig.state(next, () => true);
      expect(pin?.partitions[0]).toMatchObject({ start: 29n, end: 49n });
      await rig.finish(held);
      await rig.finish(next);
    });

    it('P8: cuts nothing while the store is empty, and goes on when it is rebuilt', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, 100);
      const distributor = await rig.distribute();
      const jobId = await rig.submit({ topic });
      await rig.settle(jobId, { partition: 0, to: 29n });
      await rig.floorsAre(topic, [30n]);
      await distributor.stop('a test');
      await rig.parts.loseStore();
      for (let round = 0; round < 3; round++) {
        const { partitions } = await rig.cycle(topic);
        expect(partitions).toMatchObject([{ outcome: 'incomplete' }]);
      }
      expect(await rig.logStarts(topic)).toEqual([0n]);
      await rig.distribute();
      await rig.floorsAre(topic, [30n]);
      expect(await rig.outcomes(topic)).toEqual(['cut']);
      expect(await rig.logStarts(topic)).toEqual([30n]);
      await rig.settle(jobId);
      await rig.state(jobId, ({ state }) => state === 'COMPLETED');
    });

    it('P7: a job whose reservation ran out before it was accepted is refused, when the guard has cut what it needs', async () => {
      const rig = rigOf();
      const { topic, reached, goOn } = await hesitating(rig);
      const submitted = rig.submit({ topic });
      await reached;
      await rig.cutsUpTo(topic, 50n);
      goOn();
      const { state, reason, pin } = await rig.state(await submitted, () => true);
      expect(pin?.partitions).toMatchObject([{ start: -1n, end: 49n }]);
      expect({ state, reason }).toEqual({
        state: 'REFUSED',
        reason:
          'RETENTION_WAS_FASTER: partition 0 was given up below 50 before the job, which needs it from 0 on, was accepted; submit it again under another id',
      });
      await rig.produce(topic, 0, 5);
      const next = await rig.submit({ topic });
      expect((await rig.state(next, () => true)).pin?.partitions).toMatchObject([{ start: 49n, end: 54n }]);
      expect(await rig.outcomes(topic)).toEqual(['held']);
      await rig.finish(next);
    });

    it('P7: a job whose reservation ran out is accepted all the same, when nothing was cut', async () => {
      const rig = rigOf();
      const { topic, reached, goOn } = await hesitating(rig);
      const submitted = rig.submit({ topic });
      await reached;
      goOn();
      const jobId = await submitted;
      await rig.floorsAre(topic, [0n]);
      expect(await rig.outcomes(topic)).toEqual(['held']);
      expect(await rig.logStarts(topic)).toEqual([0n]);
      await rig.finish(jobId);
    });

    it('P7: a series whose reservation ran out stops, when the guard has cut what its first run needs', async () => {
      const rig = rigOf();
      const { topic, reached, goOn } = await hesitating(rig);
      await rig.createSeries('nightly', { topic });
      await reached;
      await rig.cutsUpTo(topic, 50n);
      goOn();
      const { reason, liveRun } = await rig.seriesState('nightly', ({ status }) => status === 'STOPPED');
      expect({ reason, liveRun }).toEqual({
        reason:
          'RETENTION_WAS_FASTER: partition 0 was given up below 50 before the series, which needs it from 0 on, was accepted; delete it and create it again',
        liveRun: '',
      });
    });
  });
}

/** Of 50 records 30 were read; now its distributor hesitates. */
async function hesitating(rig: GuardRig) {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, 50);
  const { options, hesitate } = slowDistributor(rig);
  await rig.distribute(options);
  await rig.finish(await rig.submit({ topic, to: '0:29' }));
  return { topic, ...hesitate() };
}

/**
 * A distributor that reserves for a moment only, and once asked to stands still between its last look at the log and the
 * commit of what it pinned, as one that was suspended does for longer than any reservation lasts.
 */
function slowDistributor({ parts: { floors } }: GuardRig): {
  readonly options: Pick<DistributorOptions, 'floors' | 'onStep'>;
  hesitate(): { readonly reached: Promise<void>; goOn(): void };
} {
  let gate: { readonly reached: PromiseWithResolvers<void>; readonly goOn: PromiseWithResolvers<void> } | undefined;
  return {
    options: {
      floors: {
        ...floors,
        reserve: (request) => floors.reserve(gate === undefined ? request : { ...request, ttlMs: 1 }),
      },
      onStep: async (step) => {
        if (step !== 'pin.rechecked') return;
        gate?.reached.resolve();
        await gate?.goOn.promise;
      },
    },
    hesitate() {
      const armed = { reached: Promise.withResolvers<void>(), goOn: Promise.withResolvers<void>() };
      gate = armed;
      const goOn = (): void => {
        gate = undefined;
        armed.goOn.resolve();
      };
      onTestFinished(goOn);
      return { reached: armed.reached.promise, goOn };
    },
  };
}
