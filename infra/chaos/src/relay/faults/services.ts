/** What happens to Postgres and to the broker. */
import { setTimeout as delay } from 'node:timers/promises';
import { publish } from '@tidemark/outbox/postgres';
import { BROKER_DOWN_MS } from '../../limits.ts';
import { BETWEEN_CUTS_MS, COMMITS_AT_CRASH, CRASH_AFTER_COMMIT_MS, CUTS, POSTGRES_DOWN_MS } from '../limits.ts';
import { note } from '../plays.ts';
import type { Inject, Scene } from '../scene.ts';
import { awaitPublished, withSession } from './works-again.ts';

/** SIGKILL, or Postgres' own immediate shutdown: what was not flushed is gone, and ids are handed out again. */
export const crashPostgres: Inject = async (scene, chance) => {
  const isKilled = chance.next() < 0.5;
  const { postgres } = scene;
  const downMs = chance.between(POSTGRES_DOWN_MS.min, POSTGRES_DOWN_MS.max);
  const answered = await commitsOnTheirWay(scene);
  await delay(chance.between(CRASH_AFTER_COMMIT_MS.min, CRASH_AFTER_COMMIT_MS.max));
  const fromMs = performance.now();
  await (isKilled ? postgres.kill() : postgres.stopImmediate());
  await delay(downMs);
  await postgres.start();
  await answered();
  await tellBack(scene, `Postgres was ${isKilled ? 'killed' : 'shut down at once'}`, fromMs);
};

/** Resolves when several sessions have sent their commits, to what waits for the answers. */
async function commitsOnTheirWay(scene: Scene): Promise<() => Promise<void>> {
  const { namespace, topics } = scene;
  const sessions = Array.from({ length: COMMITS_AT_CRASH }, () => scene.openSession());
  let waiting = 0;
  const together = Promise.withResolvers<unknown>();
  const committing = sessions.map((session, place) =>
    session.transact(scene.freshName('fault'), async (client) => {
      await publish(client, { namespace, topic: topics.events, key: `crash:${place}`, type: 'said', payload: '{}' });
      await note(client);
      waiting += 1;
      if (waiting === COMMITS_AT_CRASH) together.resolve(undefined);
      await together.promise;
      return 'commit';
    }),
  );
  const ended = Promise.all(committing);
  // One that is refused comes no more, and nobody may wait for it.
  for (const each of committing) each.then(together.resolve, together.reject);
  await together.promise;
  return async () => {
    await ended;
    await Promise.all(sessions.map((session) => session.close()));
  };
}

/** Sessions are ended, everything is flushed. */
export const restartPostgres: Inject = async (scene) => {
  const fromMs = performance.now();
  await scene.postgres.shutdown();
  await scene.postgres.start();
  await tellBack(scene, 'Postgres was restarted', fromMs);
};

/** Every session of the relays, the one that listens, too. */
export const cutConnections: Inject = async (scene) => {
  const fromMs = performance.now();
  await withSession(scene, async (session) => {
    for (let cut = 0; cut < CUTS; cut += 1) {
      if (cut > 0) await delay(BETWEEN_CUTS_MS);
      const ended = await session.ask(
        `select pg_terminate_backend(pid) from pg_stat_activity where starts_with(application_name, $1)`,
        [`${scene.namespace}.relay.`],
      );
      scene.notes.cutSessions += ended.length;
    }
  });
  await tellBack(scene, 'connections were cut', fromMs);
};

/** SIGKILL and a start on the same data. */
export const killBroker: Inject = async (scene, chance) => {
  const downMs = chance.between(BROKER_DOWN_MS.min, BROKER_DOWN_MS.max);
  const fromMs = performance.now();
  await scene.broker.kill();
  await delay(downMs);
  await scene.broker.start();
  await tellBack(scene, 'the broker was killed', fromMs);
};

async function tellBack(scene: Scene, what: string, fromMs: number): Promise<void> {
  const backMs = Math.round(performance.now() - fromMs);
  await awaitPublished(scene, what);
  scene.progress(`${what}, back after ${backMs} ms, rows published after ${Math.round(performance.now() - fromMs)} ms`);
}
