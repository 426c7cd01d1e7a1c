import { setTimeout as delay } from 'node:timers/promises';
import { createCodec } from '@tidemark/contracts/registry';
import { deadLetterTopic, isTerminal, type JobLog, newRequest } from '@tidemark/jobs';
import { createJobLog } from '@tidemark/jobs/kafka';
import { createKafkaCluster } from '@tidemark/log/kafka';
import {
  createTopic,
  environmentOf,
  kafkaClient,
  privateKafka,
  produce,
  services,
  uniqueNamespace,
  waitFor,
} from '@tidemark/testkit';
import type { Pool } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createSinkDatabase } from './database.ts';
import { HANDLERS } from './limits.ts';
import { createTraversalFleet, type TraversalFleet } from './programs.ts';

const PARTITIONS = 4;
const RECORDS = 20_000;
const BATCH = 100;
const CHUNK_RECORDS = 100;
/** A chunk of them is what a reader asks for, so that nobody has the rest of a partition in memory. */
const VALUE = 'x'.repeat(1_000);
const CHUNK_BYTES = 128 * 1024;
const WORKERS = 3;
const OUTAGE_MS = 20_000;
const LINES_MAX = 60;

async function stateOf(jobLog: JobLog, jobId: string) {
  return (await jobLog.states()).get(jobId);
}

function linesBetween(fleet: TraversalFleet, fromMs: number, toMs: number): readonly number[] {
  return fleet.members('worker').map(
    ({ program }) =>
      program.log().filter((line) => {
        const atMs = Date.parse(String(line['time']));
        return atMs >= fromMs && atMs <= toMs;
      }).length,
  );
}

/** From that delivery on the sink takes nothing until it is opened: the job is in the middle, however late somebody acts. */
async function closeSinkAt(pool: Pool, deliveries: number): Promise<() => Promise<void>> {
  await pool.query(`
    create function wait_for_opening() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(1);
      return new;
    end $$;
    create trigger closed before insert on deliveries
      for each row when (new.seq > ${deliveries}) execute function wait_for_opening()`);
  const keeper = await pool.connect();
  await keeper.query('select pg_advisory_lock(1)');
  return async () => {
    await keeper.query('select pg_advisory_unlock(1)');
    keeper.release();
  };
}

it('B9: a broker that is away for 20 s in mid-job costs no attempt, no storm of log lines and at most a chunk per range', async () => {
  const namespace = uniqueNamespace('b9');
  const topic = `${namespace}.orders`;
  const broker = await privateKafka();
  onTestFinished(() => broker.stop());
  const kafka = broker.address;
  const database = await createSinkDatabase(services().postgres, namespace);
  onTestFinished(() => database.drop());
  const fleet = createTraversalFleet({
    env: {
      ...environmentOf(namespace, { kafka, postgres: database.url }),
      TIDEMARK_HANDLERS: HANDLERS,
      // Nobody dies here, and what a busy machine costs a living worker would be repetitions, too.
      TIDEMARK_LEASE_TTL_MS: '240000',
    },
    progress: () => {},
  });
  onTestFinished(() => fleet.stopAll());
  const cluster = createKafkaCluster({ brokers: [kafka], clientId: 'b9' });
  const jobLog = createJobLog({ cluster, codec: createCodec({ registryUrl: services().registry }), namespace });
  onTestFinished(async () => {
    await jobLog.close();
    await cluster.close();
  });

  const openSink = await closeSinkAt(database.pool, 0.35 * RECORDS);
  await createTopic(topic, { partitions: PARTITIONS, kafka });
  for (let place = 0; place < RECORDS; place += BATCH) {
    const messages = Array.from({ length: BATCH }, (_, index) => ({ key: `k${index}`, value: VALUE }));
    await produce(topic, messages, { partition: (place / BATCH) % PARTITIONS, kafka });
  }
  const programs = [fleet.start('distributor'), ...Array.from({ length: WORKERS }, () => fleet.start('worker'))];
  await Promise.all(programs.map(({ program }) => program.logged('program.started')));
  const jobId = 'outage';
  await jobLog.request(
    newRequest({ jobId, topic, handler: 'chaos-ledger', chunkRecords: CHUNK_RECORDS, chunkBytes: CHUNK_BYTES }),
  );
  const delivered = async (): Promise<number> =>
    (await database.pool.query<{ n: number }>('select count(*)::int as n from effects')).rows[0]?.n ?? 0;
  await waitFor('30 % of the records', async () => (await delivered()) >= 0.3 * RECORDS);

  await broker.kill();
  await openSink();
  const fromMs = Date.now();
  await delay(OUTAGE_MS); // the outage itself is what is tested
  const toMs = fromMs + OUTAGE_MS;
  expect(await delivered()).toBeLessThan(RECORDS);
  await broker.start();

  const state = await waitFor(
    'the job to end',
    async () => {
      const found = await stateOf(jobLog, jobId);
      return found !== undefined && isTerminal(found.state) ? found : undefined;
    },
    { timeoutMs: 120_000, intervalMs: 250 },
  );
  expect([state.state, state.reason]).toEqual(['COMPLETED', 'clean']);
  expect(await delivered()).toBe(RECORDS);
  const { rows } = await database.pool.query<{ n: number }>('select count(*)::int as n from deliveries');
  expect(rows[0]?.n).toBeLessThanOrEqual(RECORDS + PARTITIONS * CHUNK_RECORDS);
  expect(Math.max(...linesBetween(fleet, fromMs, toMs))).toBeLessThanOrEqual(LINES_MAX);
  expect(fleet.unexpectedEnds).toEqual([]);
  const admin = kafkaClient({ kafka }).admin();
  await admin.connect();
  expect(await admin.listTopics()).not.toContain(deadLetterTopic(topic));
  await admin.disconnect();
}, 600_000);
