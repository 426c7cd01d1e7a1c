/** Series: windows that join, and a log that is held between them. */
import type { JobState } from '@tidemark/contracts';
import { toOffset } from '@tidemark/keyspace';
import { waitFor } from '@tidemark/testkit';
import { describe, expect, it } from 'vitest';
import { floorsOf, placeOf } from './floor-scenarios.ts';
import type { Rig } from './rig.ts';
import { numbers, type RigOf, raise } from './scenario-looks.ts';

export function seriesScenarios(where: string, rigOf: RigOf): void {
  describe(`series (${where})`, () => {
    it('B4, P7: the runs of a series cover the log without a gap and without an overlap, also of partitions that are added, and hold what comes next', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(2);
      await rig.produce(topic, 0, numbers(10));
      await rig.start({ floorsLookEveryMs: 0 });
      await rig.createSeries('nightly', { topic, from: '0:4,1:0' });
      await seriesFloors(rig, topic, [4n, 0n]);
      const first = await runNow(rig, 'nightly', 1n);
      await rig.produce(topic, 1, numbers(5));
      await rig.settleAll(first);
      expect(await rig.ended(first)).toMatchObject({ state: 'COMPLETED', request: { series: 'nightly' } });
      await rig.parts.addPartitions(topic, [2], numbers(3));
      await seriesFloors(rig, topic, [10n, 0n, 0n]);
      // Between two runs the store is lost, and the guard may cut nothing that the next one needs.
      await rig.parts.loseStore();
      await seriesFloors(rig, topic, [10n, 0n, 0n]);
      const place = await placeOf(rig, topic);
      const { life } = (await rig.parts.floors.look(place)) ?? raise('the place is incomplete');
      const question = { place, life, target: toOffset(10n), required: ['series:nightly'] };
      expect(await rig.parts.floors.propose(question)).toMatchObject({ mark: 10n });
      const second = await runNow(rig, 'nightly', 2n);
      await rig.settleAll(second);
      expect([windowsOf(await rig.ended(first)), windowsOf(await rig.ended(second))]).toEqual([
        [
          [0, 3n, 9n],
          [1, -1n, -1n],
        ],
        [
          [0, 9n, 9n],
          [1, -1n, 4n],
          [2, -1n, 2n],
        ],
      ]);
      await rig.orderSeries('nightly', 'delete');
      await seriesFloors(rig, topic, [undefined, undefined, undefined]);
    });
  });
}

/** Returns the job id of the run that was ordered. */
export async function runNow(rig: Rig, series: string, number: bigint): Promise<string> {
  await rig.orderSeries(series, 'run');
  const { liveRun } = await rig.seriesState(series, ({ runs }) => runs === number);
  return liveRun;
}

export function windowsOf({ pin }: JobState): readonly (readonly [number, bigint, bigint])[] {
  return (pin?.partitions ?? []).map(({ partition, start, end }) => [partition, start, end]);
}

/** Waits until the floors of the series, by partition, are these. */
export async function seriesFloors(rig: Rig, topic: string, wanted: readonly (bigint | undefined)[]): Promise<void> {
  await waitFor(`the floors of the series at ${wanted.join(', ')}`, async () => {
    const found = (await floorsOf(rig, topic)).map(
      (floors) => floors.find(({ holder }) => holder.startsWith('series:'))?.offset,
    );
    return found.length === wanted.length && found.every((offset, index) => offset === wanted[index]);
  });
}
