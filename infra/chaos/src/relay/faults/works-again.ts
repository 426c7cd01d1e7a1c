/** A fault is over when a row that is written after it is published. */
import { publish } from '@tidemark/outbox/postgres';
import { waitFor } from '@tidemark/testkit';
import type { Member } from '../../fleet.ts';
import { RECOVERY_MS_MAX } from '../limits.ts';
import { note } from '../plays.ts';
import type { Scene } from '../scene.ts';
import type { Session } from '../sessions.ts';

/** Lends a session of its own. */
export async function withSession<T>(scene: Scene, work: (session: Session) => Promise<T>): Promise<T> {
  const session = scene.openSession();
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}

/** Writes rows of the key, one a transaction, until so many commits were answered. */
export async function writeRows(
  scene: Scene,
  session: Session,
  rows: { readonly topic: string; readonly key: string; readonly count: number; readonly payload?: string },
): Promise<void> {
  const { namespace } = scene;
  const { topic, key, payload = '{}' } = rows;
  for (let written = 0; written < rows.count; ) {
    const outcome = await session.transact(scene.freshName('fault'), async (client) => {
      await publish(client, { namespace, topic, key, type: 'said', payload });
      await note(client);
      return 'commit';
    });
    if (outcome === 'committed') written += 1;
  }
}

/** How long it takes until a row that is written now is published; notes a complaint when it never is. */
export async function awaitPublished(scene: Scene, after: string, topic = scene.topics.events): Promise<number> {
  const family = scene.freshName('probe');
  const beganMs = performance.now();
  await withSession(scene, (session) => writeRows(scene, session, { topic, key: `${family}:1`, count: 1 }));
  await awaitRows(scene, { topic, family, count: 1 }, after);
  return Math.round(performance.now() - beganMs);
}

/** Resolves to whether the rows came; notes a complaint when they did not. */
export async function awaitRows(
  { tail, notes }: Scene,
  rows: { readonly topic: string; readonly family: string; readonly count: number },
  after: string,
): Promise<boolean> {
  const { topic, family, count } = rows;
  try {
    await waitFor(`${count} rows of ${family}`, () => tail.count(topic, family) >= count, {
      timeoutMs: RECOVERY_MS_MAX,
      intervalMs: 10,
    });
    return true;
  } catch {
    notes.complaints.push(
      `${after}: ${count - tail.count(topic, family)} of ${count} rows of ${family} were not in ${topic} after ${RECOVERY_MS_MAX / 1_000} s`,
    );
    return false;
  }
}

/** The relay that has the lease. */
export function publishingRelay(scene: Scene): Promise<Member> {
  return withSession(scene, (session) =>
    waitFor(
      'a relay that has the lease',
      async () => {
        const pid = await leaseOwner(scene, session);
        return scene.fleet.members('relay').find(({ program }) => program.pid === pid);
      },
      { timeoutMs: RECOVERY_MS_MAX },
    ),
  );
}

/** Its process; undefined while nobody has it. */
export async function leaseOwner({ namespace }: Scene, session: Session): Promise<number | undefined> {
  const [lease] = await session.ask<{ owner: string }>(
    `select owner from ${namespace}.relays where expires_at > clock_timestamp()`,
  );
  // host/pid/something unique
  return lease === undefined ? undefined : Number(lease.owner.split('/').at(-2));
}
