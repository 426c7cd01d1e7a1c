/** What happens to worker processes. */
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@tidemark/testkit';
import type { Chance } from '@tidemark/testkit/chance';
import type { Member } from '../../fleet.ts';
import { REPLACE_AFTER_MS } from '../../limits.ts';
import { awaitTakeovers, heldRanges, noteInHand } from '../leases.ts';
import {
  AFTER_CONTINUE_MS,
  LEASE_TTL_MS,
  STOP_MAX_MS,
  STOPPED_BEYOND_LEASE_MS,
  VICTIM_WAIT_MAX_MS,
} from '../limits.ts';
import type { Inject, Scene } from '../scene.ts';

/** SIGKILL: nothing is given back. */
export const killWorker: Inject = async (scene, chance) => {
  const { fleet, notes } = scene;
  const victim = await chooseVictim(scene, chance);
  const killedMs = performance.now();
  await fleet.end(victim, 'SIGKILL');
  // What it held cannot change any more, nor be taken before its lease ends.
  const held = (await heldRanges(scene)).filter(({ pid }) => pid === victim.program.pid);
  noteInHand(scene, held);
  const taken = awaitTakeovers(scene, held, killedMs);
  await delay(REPLACE_AFTER_MS);
  fleet.replace(victim);
  notes.takeoversMs.push(...(await taken));
  scene.progress(`${victim.name} was killed with ${held.length} ranges, taken over after ${listMs(await taken)}`);
};

/** SIGSTOP for longer than its lease, then SIGCONT: it goes on in the middle of what it did, and does not know. */
export const stopWorker: Inject = async (scene, chance) => {
  const { notes } = scene;
  const beyondMs = chance.between(STOPPED_BEYOND_LEASE_MS.min, STOPPED_BEYOND_LEASE_MS.max);
  const victim = await chooseVictim(scene, chance);
  const stoppedMs = performance.now();
  victim.program.signal('SIGSTOP');
  await delay(50); // a call to the store that was on its way arrives
  const held = (await heldRanges(scene)).filter(({ pid }) => pid === victim.program.pid);
  noteInHand(scene, held);
  const [taken] = await Promise.all([awaitTakeovers(scene, held, stoppedMs), delay(LEASE_TTL_MS + beyondMs)]);
  victim.program.signal('SIGCONT');
  await delay(AFTER_CONTINUE_MS);
  notes.takeoversMs.push(...taken);
  scene.progress(`${victim.name} was stopped with ${held.length} ranges, taken over after ${listMs(taken)}`);
};

/** SIGTERM to one after the other, each replaced before the next. */
export const restartWorkers: Inject = async (scene) => {
  const { fleet, notes } = scene;
  const before = fleet.members('worker');
  for (const member of before) {
    const beganMs = performance.now();
    noteInHand(
      scene,
      (await heldRanges(scene)).filter(({ pid }) => pid === member.program.pid),
    );
    const exit = await Promise.race([fleet.end(member, 'SIGTERM'), delay(STOP_MAX_MS)]);
    if (exit === undefined || exit.code !== 0)
      notes.complaints.push(
        `${member.name} did not stop as asked: ${exit === undefined ? `still there after ${STOP_MAX_MS} ms` : (exit.signal ?? exit.code)}`,
      );
    if (exit === undefined) await fleet.end(member, 'SIGKILL');
    const stoppedMs = Math.round(performance.now() - beganMs);
    const next = fleet.replace(member);
    await next.program.logged('program.started');
    const replacedMs = Math.round(performance.now() - beganMs);
    scene.progress(`${member.name} stopped in ${stoppedMs} ms, the next one at work after ${replacedMs} ms`);
  }
};

/** One that holds something, among those who hold most. */
async function chooseVictim(scene: Scene, chance: Chance): Promise<Member> {
  const candidates = await waitFor(
    'a worker that holds a range',
    async () => {
      const held = await heldRanges(scene);
      const counted = scene.fleet
        .members('worker')
        .map((member) => ({ member, count: held.filter(({ pid }) => pid === member.program.pid).length }));
      const most = Math.max(...counted.map(({ count }) => count));
      return most > 0 ? counted.filter(({ count }) => count === most) : undefined;
    },
    { timeoutMs: VICTIM_WAIT_MAX_MS, intervalMs: 20 },
  );
  return chance.pick(candidates).member;
}

function listMs(times: readonly number[]): string {
  return times.length === 0 ? 'no time, for none was left open' : `${times.join(', ')} ms`;
}
