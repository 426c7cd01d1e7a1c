import { publish } from '@tidemark/outbox/postgres';
import { waitFor } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { countedUp, limitRecords, numbersByKey, openRelayTest, type RelayTest, spawnRelay } from './testing/harness.ts';

/** Up to eleven programs one after the other, of which each may take ten seconds and more to publish on a busy machine. */
const timeout = 600_000;

/** Bytes of a record: enough for those without a text beside the number. */
const TAKES_SMALL = 1_000;

/** Fewer would say little of ten kills; a slow machine needs more time for them. */
const ROWS_MIN = 4_000;

interface SteadyWriters {
  /** How far each key was counted; to be read after `stop`. */
  readonly counts: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

/** Four sessions, each with keys of its own, so the numbers of a key are committed in order. `fill` is a text beside the number. */
async function writeSteadily(test: RelayTest, ratePerSecond: number, fill = () => ''): Promise<SteadyWriters> {
  const { outbox, namespace, topic } = test;
  const counts = new Map<string, number>();
  const sessions = await Promise.all([1, 2, 3, 4].map(() => outbox.connect()));
  const startedMs = performance.now();
  let isOver = false;
  const writing = sessions.map(async (session, writer) => {
    for (let i = 0; !isOver; i += 1) {
      const dueMs = startedMs + (i * sessions.length * 1_000) / ratePerSecond;
      const waitMs = dueMs - performance.now();
      // The pace is what the case asks for.
      if (waitMs > 1) await new Promise((resolve) => setTimeout(resolve, waitMs));
      const key = `writer-${writer}-key-${i % 10}`;
      const n = (counts.get(key) ?? 0) + 1;
      await publish(session, { namespace, topic, key, type: 'counted', payload: JSON.stringify({ n, fill: fill() }) });
      counts.set(key, n);
    }
  });
  return {
    counts,
    async stop() {
      isOver = true;
      await Promise.all(writing);
    },
  };
}

async function highWatermarks(test: RelayTest): Promise<bigint> {
  const topic = await test.cluster.catalog.describe(test.topic);
  if (topic === undefined) throw new Error('the topic is there');
  return (await test.cluster.catalog.offsets(topic)).reduce((sum, { highWatermark }) => sum + highWatermark, 0n);
}

function rowsIn(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, last) => sum + last, 0);
}

/** The outbox is emptied only after its rows were committed to Kafka. */
async function untilPublished(test: RelayTest, counts: ReadonlyMap<string, number>): Promise<void> {
  const committed = rowsIn(counts);
  await waitFor(`${committed} records`, async () => (await test.readAll(test.topic)).length >= committed, {
    timeoutMs: 180_000,
    intervalMs: 500,
  });
}

it('P9: killed ten times during 400 inserts/s: rows in the topic = rows committed, none twice, per key in order', {
  timeout,
}, async () => {
  const test = await openRelayTest();
  const writers = await writeSteadily(test, 400);
  for (let kill = 1; kill <= 10; kill += 1) {
    const relay = spawnRelay(test.namespace);
    const before = await highWatermarks(test);
    await waitFor(`the relay of round ${kill} publishes`, async () => (await highWatermarks(test)) > before + 20n, {
      intervalMs: 20,
    });
    // Anywhere in its loop.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 800));
    await relay.kill('SIGKILL');
  }
  await waitFor('enough rows', () => rowsIn(writers.counts) > ROWS_MIN);
  await writers.stop();
  spawnRelay(test.namespace);
  await untilPublished(test, writers.counts);
  const sent = await test.readAll(test.topic);
  expect(await numbersByKey(test.codec, sent)).toEqual(countedUp(writers.counts));
  expect(sent.length).toBeGreaterThan(ROWS_MIN);
});

it('P9: killed six times while rows that the topic does not take come and are taken later: each once, per key in order', {
  timeout,
}, async () => {
  const test = await openRelayTest();
  await limitRecords(test.topic, TAKES_SMALL);
  const writers = await writeSteadily(test, 200, () => (Math.random() < 0.02 ? 'x'.repeat(2 * TAKES_SMALL) : ''));
  for (let kill = 1; kill <= 6; kill += 1) {
    const relay = spawnRelay(test.namespace);
    await relay.logged(kill % 2 === 1 ? 'key.parked' : 'key.freed');
    // Anywhere in what it does then.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 400));
    await relay.kill('SIGKILL');
    await limitRecords(test.topic, kill % 2 === 1 ? 4 * TAKES_SMALL : TAKES_SMALL);
  }
  await writers.stop();
  await limitRecords(test.topic, 4 * TAKES_SMALL);
  spawnRelay(test.namespace);
  await untilPublished(test, writers.counts);
  expect(await numbersByKey(test.codec, await test.readAll(test.topic))).toEqual(countedUp(writers.counts));
});

it('P9: of two relays the older is stopped by signal and continued again: nothing is lost or sent twice', {
  timeout,
}, async () => {
  const test = await openRelayTest();
  const writers = await writeSteadily(test, 300);
  // Long enough that none of them loses it to the other because the machine is busy.
  const lease = { TIDEMARK_LEASE_TTL_MS: '4000' };
  const relays = [spawnRelay(test.namespace, lease), spawnRelay(test.namespace, lease)];
  const owner = async () => {
    const { rows } = await test.outbox.client.query<{ owner: string }>(
      `select owner from ${test.outbox.schema}.relays where expires_at > clock_timestamp()`,
    );
    return relays.find((relay) => rows[0]?.owner.split('/').at(-2) === `${relay.pid}`);
  };
  for (let round = 1; round <= 4; round += 1) {
    const older = await waitFor('a relay with the lease', owner);
    const atStop = await highWatermarks(test);
    await waitFor('it publishes', async () => (await highWatermarks(test)) > atStop, { intervalMs: 10 });
    older.signal('SIGSTOP');
    const newer = await waitFor('the other one takes over', async () => {
      const now = await owner();
      return now !== older && now;
    });
    const atTakeOver = await highWatermarks(test);
    await waitFor('the newer publishes', async () => (await highWatermarks(test)) > atTakeOver + 50n);
    expect(newer.pid).not.toBe(older.pid);
    older.signal('SIGCONT');
  }
  await writers.stop();
  await untilPublished(test, writers.counts);
  expect(await numbersByKey(test.codec, await test.readAll(test.topic))).toEqual(countedUp(writers.counts));
  for (const relay of relays) {
    relay.signal('SIGTERM');
    expect(await relay.exit).toEqual({ code: 0, signal: null });
  }
});

it('a service that is down at start is named with its address, in one line and with its exit code', async () => {
  const down = spawnRelay('nowhere', { TIDEMARK_POSTGRES: 'postgres://u:secret@127.0.0.1:1/db' });
  expect((await down.exit).code).toBe(6);
  const faults = down.lines.filter((text) => text.startsWith('tidemark relay:'));
  expect(faults).toEqual([expect.stringMatching(/^tidemark relay: Postgres at 127\.0\.0\.1:1\/db: .*ECONNREFUSED/)]);
  expect(down.lines.join('\n')).not.toContain('secret');
});

it('an outbox that is not installed is told as such', async () => {
  const relay = spawnRelay('never_installed');
  expect((await relay.exit).code).toBe(2);
  expect(relay.stderr()).toMatch(/tidemark relay: .*Run "tidemark outbox install"/);
});
