/** What writers do that a relay must bear: rows that a topic does not take, transactions that stay open, very large ones. */
import { setTimeout as delay } from 'node:timers/promises';
import { publish } from '@tidemark/outbox/postgres';
import { kafkaClient, waitFor } from '@tidemark/testkit';
import type { Chance } from '@tidemark/testkit/chance';
import { REPLACE_AFTER_MS } from '../../limits.ts';
import {
  HELD_MS,
  HOLD_ATTEMPTS,
  HUGE_CHANGED,
  HUGE_INSERTED,
  LARGE_LIMIT_BYTES,
  LARGE_ROW_BYTES,
  RECOVERY_MS_MAX,
  ROWS_BEHIND,
  SMALL_LIMIT_BYTES,
} from '../limits.ts';
import { fillStock, note } from '../plays.ts';
import type { Inject, Scene } from '../scene.ts';
import type { Session } from '../sessions.ts';
import { awaitPublished, awaitRows, publishingRelay, withSession, writeRows } from './works-again.ts';

/** Its key waits, others go on; when the limit is raised, the key is freed. The judge looks at the order. */
export const oversizeRow: Inject = async (scene, chance) => {
  const { topics, tail, notes } = scene;
  const topic = topics.docs;
  const family = scene.freshName('large');
  const key = `${family}:1`;
  const isAsked = chance.next() < 0.5;
  await limitRecords(scene, SMALL_LIMIT_BYTES);
  const parkedForMs = await withSession(scene, async (session) => {
    const payload = JSON.stringify('x'.repeat(LARGE_ROW_BYTES));
    await writeRows(scene, session, { topic, key, count: 1, payload });
    const fromMs = performance.now();
    await awaitPublished(scene, 'a row was too large for its topic', topic);
    await writeRows(scene, session, { topic, key, count: ROWS_BEHIND });
    await awaitPublished(scene, 'a row was too large for its topic', topic);
    const early = tail.count(topic, family);
    if (early > 0)
      notes.complaints.push(`${early} rows of a key came although its first row is too large for ${topic}`);
    await limitRecords(scene, LARGE_LIMIT_BYTES);
    if (isAsked) await session.ask(`insert into ${scene.namespace}.relay_retries (topic) values ($1)`, [topic]);
    await awaitRows(scene, { topic, family, count: 1 + ROWS_BEHIND }, 'the limit was raised');
    return Math.round(performance.now() - fromMs);
  });
  scene.progress(`a large row was parked, and freed after ${parkedForMs} ms${isAsked ? ', when asked' : ''}`);
};

/** The broker may be away. */
async function limitRecords({ kafka, topics }: Scene, bytes: number): Promise<void> {
  const configEntries = [{ name: 'max.message.bytes', value: String(bytes) }];
  await waitFor(
    `a limit of ${bytes} bytes`,
    async () => {
      const admin = kafkaClient({ kafka }).admin();
      try {
        await admin.connect();
        await admin.alterConfigs({ validateOnly: false, resources: [{ type: 2, name: topics.docs, configEntries }] });
        return true;
      } finally {
        await admin.disconnect();
      }
    },
    { timeoutMs: RECOVERY_MS_MAX },
  );
}

/** Open for long, in a session or prepared: its own rows wait, nobody else's. */
export const holdTransaction: Inject = async (scene, chance) => {
  for (let attempt = 1; attempt <= HOLD_ATTEMPTS; attempt += 1) {
    if (await withSession(scene, (session) => hold(scene, session, chance))) return;
    scene.progress('the transaction that was held open is gone, once more');
  }
  scene.notes.complaints.push(`no transaction could be held open in ${HOLD_ATTEMPTS} attempts`);
};

/** False when the server's end was the transaction's, too. */
async function hold(scene: Scene, session: Session, chance: Chance): Promise<boolean> {
  const { namespace, topics, tail, notes } = scene;
  const family = scene.freshName('held');
  const gid = chance.next() < 0.5 ? `held-${namespace}-${family}` : undefined;
  const heldMs = chance.between(HELD_MS.min, HELD_MS.max);
  let openMs = 0;
  const stayOpen = async (): Promise<void> => {
    const fromMs = performance.now();
    await delay(heldMs);
    await awaitPublished(scene, 'a transaction was held open');
    openMs = Math.round(performance.now() - fromMs);
    const early = tail.count(topics.events, family) + tail.count(topics.items, family);
    if (early > 0) notes.complaints.push(`${early} rows of a transaction came before it was committed`);
  };
  const outcome = await session.transact(scene.freshName('fault'), async (client) => {
    if (gid !== undefined) await client.query('set local tidemark.hints = off');
    await publish(client, { namespace, topic: topics.events, key: `${family}:1`, type: 'said', payload: '{}' });
    await client.query('insert into items values ($1, 1)', [`${family}:2`]);
    await note(client);
    if (gid !== undefined) return { prepareAs: gid, verdict: 'commit' };
    await stayOpen();
    return 'commit';
  });
  if (gid !== undefined && !(await isPrepared(session, gid))) return false;
  if (gid === undefined && outcome !== 'committed') return false;
  if (gid !== undefined) {
    await stayOpen();
    await commitPrepared(session, gid);
  }
  await awaitRows(scene, { topic: topics.events, family, count: 1 }, 'the held transaction was committed');
  await awaitRows(scene, { topic: topics.items, family, count: 1 }, 'the held transaction was committed');
  scene.progress(`a transaction was ${gid === undefined ? 'open' : 'prepared'} for ${openMs} ms`);
  return true;
}

async function isPrepared(session: Session, gid: string): Promise<boolean> {
  return (await session.ask('select from pg_prepared_xacts where gid = $1', [gid])).length > 0;
}

/** Whether the answer to one came or not: it is over when nobody knows it any more. */
async function commitPrepared(session: Session, gid: string): Promise<void> {
  while (await isPrepared(session, gid)) await session.ask(`commit prepared '${gid}'`).catch(() => undefined);
}

/** Tens of thousands of rows in one commit, and the relay is killed when the first of them are in the topic. */
export const hugeTransaction: Inject = async (scene) => {
  const { topics, tail, fleet, notes } = scene;
  const family = scene.freshName('huge');
  const rows = HUGE_INSERTED + HUGE_CHANGED;
  const fromMs = performance.now();
  await withSession(scene, async (session) => {
    const outcome = await session.transact(scene.freshName('fault'), async (client) => {
      await fillStock(client, family, HUGE_INSERTED);
      await note(client);
      await client.query(`update stock set value = -value where starts_with(key, $1) and value <= $2`, [
        `${family}:`,
        HUGE_CHANGED,
      ]);
      await note(client);
      return 'commit';
    });
    if (outcome !== 'committed') throw new Error(`the huge transaction was ${outcome}, and nobody broke anything`);
  });
  const committedMs = performance.now();
  const victim = await publishingRelay(scene);
  await waitFor('the first of its rows', () => tail.count(topics.stock, family) > 0, {
    timeoutMs: RECOVERY_MS_MAX,
    intervalMs: 5,
  });
  await fleet.end(victim, 'SIGKILL');
  const seen = tail.count(topics.stock, family);
  notes.hugeSeenAtKill.push(seen);
  await delay(REPLACE_AFTER_MS);
  fleet.replace(victim);
  await awaitRows(
    scene,
    { topic: topics.stock, family, count: rows },
    'the relay was killed inside a huge transaction',
  );
  scene.progress(
    `${rows} rows in one commit took ${Math.round(committedMs - fromMs)} ms to write and ${Math.round(performance.now() - committedMs)} ms to publish, ${victim.name} was killed after ${seen}`,
  );
};
