/** A guard that dies at any of its calls, before or after it took effect: nothing needed goes, and the next guard goes on. */
import { createMarkLog } from '@tidemark/jobs/kafka';
import { offsetMin, toOffset } from '@tidemark/keyspace';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCycle } from './cycle.ts';
import { GuardRig } from './testing/guard-rig.ts';
import { createMemoryParts } from './testing/memory-parts.ts';
import { type Moment, mortal } from './testing/mortal-parts.ts';

let rig: GuardRig;
beforeEach(() => {
  rig = new GuardRig(createMemoryParts());
});
afterEach(() => rig.close());

/** More than a cycle has: the test must end. */
const CALLS_MAX = 100;

/** As it is remembered: one removal after the other, without a gap and none twice. */
async function removedBefore(topic: string): Promise<bigint> {
  const { watches } = await createMarkLog(rig.parts).load();
  const removals = [...watches.values()].find((watch) => watch.topic === topic)?.removals ?? [];
  const [first] = removals;
  return removals.reduce((before, { fromOffset, toOffset: to }) => {
    expect(fromOffset).toBe(before);
    return to;
  }, first?.fromOffset ?? 0n);
}

it.each<Moment>(['before', 'after'])('P7: killed %s each step of a cycle', async (moment) => {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, 4 * CALLS_MAX);
  const robbed = await rig.parts.newTopic(1);
  await rig.produce(robbed, 0, CALLS_MAX);
  await rig.distribute();
  const jobId = await rig.submit({ topic });
  await rig.parts.commitOffset('billing', topic, 0, 0n);
  const options = { groups: new Map([[topic, ['billing']]]), repairs: true };
  const policies = [topic, robbed].map((each) => ({ topic: each, ageMs: 0, bytes: undefined }));
  const parts = () => rig.guardParts(policies, options);
  await runCycle(parts());
  const died: string[] = [];
  for (let call = 1; ; call++) {
    expect(call).toBeLessThan(CALLS_MAX);
    // Now the job is the slower one, now the group.
    const [floor, committed] = call % 2 === 0 ? [4 * call, 4 * call + 2] : [4 * call + 2, 4 * call];
    await rig.settle(jobId, { partition: 0, to: BigInt(floor - 1) });
    await rig.floorsAre(topic, [BigInt(floor)]);
    await rig.parts.commitOffset('billing', topic, 0, BigInt(committed));
    const needed = offsetMin(toOffset(floor), toOffset(committed));
    await rig.parts.cluster.catalog.changeSettings(topic, { 'retention.ms': '1000' });
    await rig.removeBehindOurBack(robbed, 0, BigInt(call));
    const dying = mortal(parts(), { call, moment });
    await runCycle(dying.parts).catch(() => undefined);
    const [low = needed] = await rig.logStarts(topic);
    expect({ died: dying.diedAt, low }).toEqual({ died: dying.diedAt, low: offsetMin(low, needed) });
    const { partitions } = await runCycle(parts());
    expect({ died: dying.diedAt, low: (await rig.logStarts(topic))[0] }).toEqual({ died: dying.diedAt, low: needed });
    // What the dead one did is ours: nobody else removed anything.
    const ours = partitions.filter((each) => each.topic === topic);
    expect(ours.flatMap(({ removals = [] }) => removals)).toEqual([]);
    expect(await removedBefore(robbed)).toBe(BigInt(call));
    if (dying.diedAt === undefined) break;
    died.push(dying.diedAt);
  }
  expect(new Set(died)).toEqual(
    new Set([
      'catalog.describe',
      'catalog.settings',
      'catalog.changeSettings',
      'catalog.offsets',
      'catalog.offsetsAt',
      'catalog.committedOffsets',
      'floors.look',
      'marks.load',
      'jobs.jobsAndSeries',
      'floors.incarnation',
      'marks.openSession',
      'session.watch',
      'session.close',
      'floors.propose',
      'session.write',
      'floors.holdsMark',
      'catalog.deleteRecordsBefore',
    ]),
  );
});
