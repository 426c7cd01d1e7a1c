/** What happens to the store, the broker and the distributor. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Chance } from '@tidemark/testkit/chance';
import { Redis } from 'ioredis';
import type { Member } from '../../fleet.ts';
import { BROKER_DOWN_MS, REPLACE_AFTER_MS } from '../../limits.ts';
import { heldRanges, noteInHand } from '../leases.ts';
import { PROBE_RECORDS, RECOVERY_MAX_MS } from '../limits.ts';
import type { Inject, Scene } from '../scene.ts';
import { recentWindows } from './jobs.ts';
import { awaitSink, sinkState } from './works-again.ts';

/** FLUSHALL, or killed and back with an empty folder. */
export const emptyRedis: Inject = async (scene, chance) => {
  const isFlushed = chance.next() < 0.5;
  await loseStore(scene, async () => {
    if (isFlushed) await flushAll(scene.redis.url);
    else await scene.redis.restartEmpty();
    return isFlushed ? 'Redis was flushed' : 'Redis was killed and came back empty';
  });
};

/** Killed, and back with everything: to us it is another server all the same. */
export const restartRedis: Inject = (scene) =>
  loseStore(scene, async () => {
    await scene.redis.restart();
    return 'Redis was killed and came back as it was';
  });

/** Killed, and back as it was some seconds before. */
export const olderRedis: Inject = (scene) =>
  loseStore(scene, async () => {
    const ageMs = await scene.redis.restartOlder();
    return `Redis was killed and came back ${(ageMs / 1_000).toFixed(1)} s older`;
  });

async function loseStore(scene: Scene, lose: () => Promise<string>): Promise<void> {
  const { epoch } = await sinkState(scene);
  noteInHand(scene, await heldRanges(scene));
  scene.notes.lossesAtMs.push(Date.now());
  const beganMs = performance.now();
  const what = await lose();
  await awaitSink(scene, 'a loss of the store', (state) => state.epoch > epoch);
  scene.progress(`${what}; filled in and at work again after ${Math.round(performance.now() - beganMs)} ms`);
}

async function flushAll(url: string): Promise<void> {
  const redis = new Redis(url);
  try {
    await redis.flushall();
  } finally {
    redis.disconnect();
  }
}

/** SIGKILL and a start on the same data. */
export const killBroker: Inject = async (scene, chance) => {
  const { broker, streams, notes } = scene;
  const downMs = chance.between(BROKER_DOWN_MS.min, BROKER_DOWN_MS.max);
  await streams.pause();
  noteInHand(scene, await heldRanges(scene));
  const fromMs = Date.now();
  await broker.kill();
  await delay(downMs);
  await broker.start();
  const awayMs = Date.now() - fromMs;
  streams.resume();
  const { seq } = await sinkState(scene);
  await awaitSink(scene, 'an outage of the broker', (state) => state.seq > seq);
  notes.outages.push({ fromMs, toMs: Date.now() });
  scene.progress(`the broker was killed, healthy after ${awayMs} ms, deliveries after ${Date.now() - fromMs} ms`);
};

/** The one that works, as far as can be seen from outside. */
export const killDistributor: Inject = async (scene, chance) => {
  const { fleet, notes, desk } = scene;
  const victim = activeDistributor(fleet.members('distributor'), chance);
  const fromMs = Date.now();
  await fleet.end(victim, 'SIGKILL');
  await delay(REPLACE_AFTER_MS);
  fleet.replace(victim);
  // Whoever answers a request that was made after the kill works.
  const { topic, windows } = recentWindows(scene, chance, PROBE_RECORDS);
  const job = await desk.ask({ topic, ordering: 'none', mode: undefined, isExact: true, windows, request: {} });
  const deadline = performance.now() + RECOVERY_MAX_MS;
  while (desk.state(job.jobId) === undefined && performance.now() < deadline) await delay(50);
  if (desk.state(job.jobId) === undefined)
    notes.complaints.push(`no distributor answered for ${RECOVERY_MAX_MS / 1_000} s after ${victim.name} was killed`);
  notes.outages.push({ fromMs, toMs: Date.now() });
  scene.progress(`${victim.name} was killed, the next one answered after ${Date.now() - fromMs} ms`);
};

/** Only the active one logs what becomes of jobs; which of two that did so is newer, its log tells. */
function activeDistributor(members: readonly Member[], chance: Chance): Member {
  const seenMs = (member: Member): number =>
    Math.max(
      0,
      ...member.program
        .log()
        .filter((line) => String(line['msg']).startsWith('job.'))
        .map((line) => Date.parse(String(line['time']))),
    );
  const newest = Math.max(...members.map(seenMs));
  return members.find((member) => newest > 0 && seenMs(member) === newest) ?? chance.pick(members);
}
