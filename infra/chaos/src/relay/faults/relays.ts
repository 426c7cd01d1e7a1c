/** What happens to the relay processes. */
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@tidemark/testkit';
import { REPLACE_AFTER_MS } from '../../limits.ts';
import { FENCED_MS_MAX, LEASE_TTL_MS, STOP_MS_MAX, STOPPED_BEYOND_LEASE_MS } from '../limits.ts';
import type { Inject } from '../scene.ts';
import { awaitPublished, publishingRelay } from './works-again.ts';

/** SIGKILL: the lease is not given back, and a transaction may be open in Kafka. */
export const killRelay: Inject = async (scene) => {
  const { fleet, notes } = scene;
  const victim = await publishingRelay(scene);
  const killedMs = performance.now();
  await fleet.end(victim, 'SIGKILL');
  const replaced = delay(REPLACE_AFTER_MS).then(() => fleet.replace(victim));
  await awaitPublished(scene, `${victim.name} was killed`);
  const takeoverMs = Math.round(performance.now() - killedMs);
  notes.takeoversMs.push(takeoverMs);
  await replaced;
  scene.progress(`${victim.name} was killed, taken over after ${takeoverMs} ms`);
};

/** SIGSTOP for longer than its lease, then SIGCONT: it goes on in the middle of what it did, and another one publishes. */
export const stopRelay: Inject = async (scene, chance) => {
  const { notes } = scene;
  const beyondMs = chance.between(STOPPED_BEYOND_LEASE_MS.min, STOPPED_BEYOND_LEASE_MS.max);
  const victim = await publishingRelay(scene);
  const stoppedMs = performance.now();
  victim.program.signal('SIGSTOP');
  await awaitPublished(scene, `${victim.name} was stopped`);
  const takeoverMs = Math.round(performance.now() - stoppedMs);
  notes.takeoversMs.push(takeoverMs);
  await delay(Math.max(0, LEASE_TTL_MS + beyondMs - takeoverMs));
  const linesBefore = victim.program.log().length;
  victim.program.signal('SIGCONT');
  const yielded = await waitFor(
    `${victim.name} to find out`,
    () => victim.program.log().slice(linesBefore).find(isYielding),
    { timeoutMs: FENCED_MS_MAX },
  ).catch((error: unknown) => void notes.complaints.push(String(error)));
  scene.progress(
    `${victim.name} was stopped, taken over after ${takeoverMs} ms, and found out by ${String(yielded?.['msg'])}`,
  );
};

/** It lost the lease, or its producer was fenced. */
function isYielding(line: Readonly<Record<string, unknown>>): boolean {
  return line['msg'] === 'lease.lost' || line['msg'] === 'session.failed' || line['state'] === 'standby';
}

/** SIGTERM to one after the other, each replaced before the next. */
export const restartRelays: Inject = async (scene) => {
  const { fleet, notes } = scene;
  for (const member of fleet.members('relay')) {
    const beganMs = performance.now();
    const exit = await Promise.race([fleet.end(member, 'SIGTERM'), delay(STOP_MS_MAX)]);
    if (exit === undefined || exit.code !== 0)
      notes.complaints.push(
        `${member.name} did not stop as asked: ${exit === undefined ? `still there after ${STOP_MS_MAX} ms` : (exit.signal ?? exit.code)}`,
      );
    if (exit === undefined) await fleet.end(member, 'SIGKILL');
    const stoppedMs = Math.round(performance.now() - beganMs);
    const next = fleet.replace(member);
    await next.program.logged('program.started');
    const publishedMs = await awaitPublished(scene, `${member.name} was restarted`);
    scene.progress(
      `${member.name} stopped in ${stoppedMs} ms, a row published ${publishedMs} ms after the next one started`,
    );
  }
};
