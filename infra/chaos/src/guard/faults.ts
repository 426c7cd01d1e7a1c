/** What happens to guards, to the topics that they keep, and to requests at the edge of a cut. */
import { setTimeout as delay } from 'node:timers/promises';
import type { JobState } from '@tidemark/contracts';
import { deleteRecordsBefore, waitFor } from '@tidemark/testkit';
import { REPLACE_AFTER_MS } from '../limits.ts';
import { RECOVERY_MAX_MS } from '../traversal/limits.ts';
import { BEFORE_KILL_MS, BROKEN_RECORDS, RACER_PAUSE_MS, RACER_RECORDS, RACERS, STOPPED_MS } from './limits.ts';
import { lowestOf } from './needs.ts';
import type { GuardInject } from './scene.ts';

/** SIGKILL at any instant of a cycle; another one takes its place. */
export const killGuard: GuardInject = async ({ fleet, progress }, chance) => {
  const victim = chance.pick(fleet.members('guard'));
  await delay(chance.between(BEFORE_KILL_MS.min, BEFORE_KILL_MS.max));
  await fleet.end(victim, 'SIGKILL');
  await delay(REPLACE_AFTER_MS);
  fleet.replace(victim);
  progress(`${victim.name} was killed`);
};

/** SIGSTOP in the middle of a cycle, SIGCONT when the other one has cut and jobs have come and gone. */
export const stopGuard: GuardInject = async ({ fleet, progress }, chance) => {
  const victim = chance.pick(fleet.members('guard'));
  await delay(chance.between(BEFORE_KILL_MS.min, BEFORE_KILL_MS.max));
  const stoppedMs = chance.between(STOPPED_MS.min, STOPPED_MS.max);
  victim.program.signal('SIGSTOP');
  await delay(stoppedMs);
  victim.program.signal('SIGCONT');
  progress(`${victim.name} was stopped for ${stoppedMs} ms`);
};

/** It is filled at once; the series has to take it in from its first record on. */
export const addPartition: GuardInject = async ({ streams, filledTopics, progress }, chance) => {
  const topic = chance.pick(filledTopics);
  const partition = await streams.addPartition(topic);
  await waitFor(`records in ${topic}/${partition}`, () => (streams.acknowledged(topic).get(partition) ?? 0n) > 0n, {
    timeoutMs: RECOVERY_MAX_MS,
  });
  progress(`${topic} has ${partition + 1} partitions`);
};

/** Jobs that ask for the very records that are cut next, one after the other, for each holds them: it gets what it pins, or is refused. */
export const raceCut: GuardInject = async (scene, chance) => {
  const { desk, sampler, filledTopics } = scene;
  const topic = chance.pick(filledTopics);
  const ends: JobState[] = [];
  for (let racer = 0; racer < RACERS; racer++) {
    const looks = await waitFor('a look at the log', () => sampler.look(), { timeoutMs: RECOVERY_MAX_MS });
    const windows = looks
      .filter((look) => look.topic === topic && look.highWatermark > look.lowWatermark)
      .map(({ partition, lowWatermark: first }) => ({ partition, first, last: first + RACER_RECORDS - 1n }));
    await delay(chance.between(RACER_PAUSE_MS.min, RACER_PAUSE_MS.max));
    if (windows.length === 0) continue;
    const { jobId } = await desk.ask({ topic, ordering: 'none', mode: undefined, isExact: true, windows, request: {} });
    // One that the broker's outages hold up for longer is judged at the end, as every job is.
    await desk.ended(jobId, RECOVERY_MAX_MS).then(
      (state) => void ends.push(state),
      () => undefined,
    );
  }
  const clamped = ends.filter(({ pin }) => pin?.partitions.some((each) => each.clamped !== '')).length;
  const refused = ends.filter(({ state }) => state === 'REFUSED').length;
  scene.progress(
    `${ends.length} requests raced the guards: ${clamped} got less than they asked for, ${refused} nothing`,
  );
};

/** The planted mistake: the lowest need of some partition, and a cut beyond it. */
export const breakFloor: GuardInject = async ({ sampler, kafka, progress }, chance) => {
  const broken = await waitFor(
    'a need that can be hurt',
    async () => {
      const places = (await sampler.look()).flatMap(({ topic, partition, needs, highWatermark }) => {
        const job = lowestOf(needs.filter(({ holder }) => holder.startsWith('chaos-')).map(({ offset }) => offset));
        const before = job === undefined ? undefined : job + BROKEN_RECORDS;
        return before === undefined || before > highWatermark ? [] : [{ topic, partition, before }];
      });
      return places.length === 0 ? undefined : chance.pick(places);
    },
    { timeoutMs: RECOVERY_MAX_MS },
  );
  await deleteRecordsBefore(broken.topic, broken.partition, broken.before, { kafka });
  progress(`planted: ${broken.topic}/${broken.partition} was cut at ${broken.before}, which is needed`);
};
