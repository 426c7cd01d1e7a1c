/**
 * A namespace in which much is going on: programs of ours as children, jobs in every state that a page shows, and texts
 * that would run if anybody took them for markup.
 */
import { randomUUID } from 'node:crypto';
import type { SeriesDefinition, SeriesState } from '@tidemark/contracts';
import { createCodec } from '@tidemark/contracts/registry';
import { type JobLog, newRequest, type RequestFields } from '@tidemark/jobs';
import { createJobLog } from '@tidemark/jobs/kafka';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { attachTable, installOutbox } from '@tidemark/outbox/postgres';
import {
  beginTransaction,
  createTopic,
  environmentOf,
  produce,
  type SpawnedProgram,
  services,
  spawnProgram,
  uniqueName,
  uniqueNamespace,
  waitFor,
} from '@tidemark/testkit';
import { Client } from 'pg';
import { HOSTILE } from './hostile.ts';

export interface Scene {
  readonly namespace: string;
  readonly kafka: string;
  readonly jobLog: JobLog;
  readonly env: Readonly<Record<string, string>>;
  /** Writes a request and resolves when the job is in the state. */
  submit(fields: RequestFields, state: string): Promise<void>;
  /** Orders a series to be made, and resolves when it is there. */
  createSeries(request: RequestFields, everyMs: bigint): Promise<void>;
  /** Resolves when the series is as wanted. */
  orderSeries(series: string, order: string, until: (state: SeriesState) => boolean): Promise<void>;
  /** A topic with so many records in each partition. */
  topic(name: string, options: { readonly partitions: number; readonly records: number }): Promise<string>;
  start(program: 'relay' | 'distributor' | 'worker', env?: Readonly<Record<string, string>>): SpawnedProgram;
  close(): Promise<void>;
}

const HANDLERS = new URL('./scene-handlers.ts', import.meta.url).pathname;

export async function openScene(options: { readonly kafka?: string } = {}): Promise<Scene> {
  const endpoints = { ...services(), ...options };
  const namespace = uniqueNamespace('console');
  const env = { ...environmentOf(namespace, options), TIDEMARK_HANDLERS: HANDLERS };
  const cluster = createKafkaCluster({ brokers: [endpoints.kafka], clientId: namespace });
  const jobLog = createJobLog({ cluster, codec: createCodec({ registryUrl: endpoints.registry }), namespace });
  const children: SpawnedProgram[] = [];
  const giveOrder = (series: string, order: string, definition: SeriesDefinition | null) =>
    jobLog.orderSeries({
      formatVersion: 1,
      orderId: randomUUID(),
      series,
      order,
      definition,
      reason: HOSTILE,
      actor: 'scene',
    });
  const seriesToBe = (series: string, until: (state: SeriesState) => boolean) =>
    waitFor(`series ${series} to be as wanted`, async () => {
      const state = (await jobLog.series()).get(series);
      return state !== undefined && until(state);
    });
  return {
    namespace,
    kafka: endpoints.kafka,
    jobLog,
    env,
    start(program, more = {}) {
      const child = spawnProgram({ script: `services/${program}/src/main.ts`, env: { ...env, ...more } });
      children.push(child);
      return child;
    },
    async submit(fields, state) {
      await jobLog.request(newRequest({ requestedBy: 'scene', ...fields }));
      await waitFor(`job ${fields.jobId} to be ${state}`, async () => {
        return (await jobLog.states()).get(fields.jobId)?.state === state;
      });
    },
    async createSeries(fields, everyMs) {
      const request = newRequest({ requestedBy: 'scene', ...fields });
      await giveOrder(request.jobId, 'create', { request, cron: '', zone: 'UTC', everyMs });
      await seriesToBe(request.jobId, ({ status }) => status === 'ACTIVE');
    },
    async orderSeries(series, order, until) {
      await giveOrder(series, order, null);
      await seriesToBe(series, until);
    },
    async topic(name, { partitions, records }) {
      const topic = await createTopic(uniqueName(name), { partitions, kafka: endpoints.kafka });
      for (let partition = 0; partition < partitions; partition += 1) {
        const messages = Array.from({ length: records }, (_, index) => ({
          key: `k${index}`,
          value: `value ${index} ${HOSTILE}`,
        }));
        await produce(topic, messages, { partition, kafka: endpoints.kafka });
      }
      return topic;
    },
    async close() {
      await Promise.all(children.map((child) => child.kill('SIGKILL')));
      await jobLog.close();
      await cluster.close();
    },
  };
}

/** As a redrive is called when nobody names it. */
const LONG_ID = 'redrive-0d7c7f0e-5a51-4f0b-8c33-7a1e2b9d4c66';

/** Everything that the pages can show, at once. */
export async function playEverything(scene: Scene): Promise<{
  readonly jobIds: readonly string[];
  readonly series: readonly string[];
  /** A topic with dead letters at 0:0, 0:1 (markup) and 0:2. */
  readonly letters: string;
  close(): Promise<void>;
}> {
  const { namespace } = scene;
  const postgres = new Client({ connectionString: services().postgres });
  await postgres.connect();
  await installOutbox(postgres, { namespace });
  await postgres.query(`create table ${namespace}.orders (id bigint primary key, state text)`);
  const orders = await createTopic(uniqueName('orders'), { partitions: 2 });
  await attachTable(postgres, { namespace, table: `${namespace}.orders`, topic: orders });
  await postgres.query(`insert into ${namespace}.orders select n, 'new' from generate_series(1, 500) n`);
  const programs = [scene.start('relay'), scene.start('distributor'), scene.start('worker', { TIDEMARK_SLOTS: '10' })];
  for (const program of programs) await program.logged('program.started');

  const events = await scene.topic('events', { partitions: 3, records: 400 });
  await scene.submit({ jobId: 'count-events', topic: events, handler: 'count' }, 'COMPLETED');

  const long = await scene.topic('warehouse.shipments.of-all-carriers-by-day', { partitions: 1, records: 10 });
  await scene.submit({ jobId: LONG_ID, topic: long, handler: 'count' }, 'COMPLETED');

  const letters = await scene.topic('letters', { partitions: 1, records: 60 });
  const headers = { [HOSTILE.slice(0, 60)]: HOSTILE };
  await produce(
    letters,
    [
      { value: 'bad one' },
      { value: 'skip me' },
      { key: HOSTILE, value: `bad ${HOSTILE}`, headers },
      { value: 'bad two' },
    ],
    {},
  );
  await scene.submit(
    { jobId: 'pick-letters', topic: letters, handler: 'picky', attempts: 1, note: HOSTILE },
    'COMPLETED',
  );
  await scene.submit(
    { jobId: 'refused-markup', topic: HOSTILE, handler: 'javascript:alert(4)', note: HOSTILE },
    'REFUSED',
  );

  const timeline = await scene.topic('timeline', { partitions: 4, records: 4_000 });
  await scene.submit(
    {
      jobId: 'fan-out-timeline',
      topic: timeline,
      handler: 'slow',
      chunkRecords: 200,
      rangesPerPartition: 3,
      note: 'Inbox rows for the release notes.',
    },
    'RUNNING',
  );
  const sink = await scene.topic('invoices', { partitions: 2, records: 150 });
  await scene.submit(
    { jobId: 'send-invoices', topic: sink, handler: 'down', note: HOSTILE, parameters: { sink: HOSTILE } },
    'RUNNING',
  );
  await scene.submit({ jobId: 'nobody-has-it', topic: events, handler: 'not-loaded' }, 'RUNNING');

  await playSteered(scene);
  const series = await playSeries(scene, { events, letters });

  const open = await openTransaction(scene);
  await scene.submit({ jobId: 'waits-for-writer', topic: open.topic, handler: 'count' }, 'RUNNING');
  return {
    letters,
    series,
    jobIds: [
      'count-events',
      'pick-letters',
      'refused-markup',
      'fan-out-timeline',
      'send-invoices',
      'nobody-has-it',
      'put-off',
      'one-at-a-time',
      'rests',
      'spends',
      'waits-for-writer',
    ],
    async close() {
      await open.abort();
      await postgres.end();
    },
  };
}

/** One that runs and holds, one that was stopped, and one that was deleted. */
async function playSeries(
  scene: Scene,
  { events, letters }: { readonly events: string; readonly letters: string },
): Promise<readonly string[]> {
  const HOUR_MS = 3_600_000n;
  const hourly = { jobId: 'hourly-counts-of-all-events', topic: events, handler: 'count', note: HOSTILE };
  await scene.createSeries(hourly, HOUR_MS);
  const hasRun = (runs: bigint) => (state: SeriesState) => state.runs === runs && state.liveRun === '';
  for (const run of [1n, 2n]) {
    await produce(events, [{ value: 'one more' }, { value: 'and another' }], { partition: 0, kafka: scene.kafka });
    await scene.orderSeries(hourly.jobId, 'run', hasRun(run));
  }
  await produce(events, [{ value: 'later one' }, { value: 'later two' }], { partition: 1, kafka: scene.kafka });

  const stopped = { jobId: 'stopped-mails', topic: letters, handler: 'not-loaded', parameters: { to: HOSTILE } };
  await scene.createSeries(stopped, HOUR_MS);
  await scene.orderSeries(stopped.jobId, 'run', ({ liveRun }) => liveRun !== '');
  await scene.jobLog.command({
    formatVersion: 1,
    force: true,
    deadlineMs: 0n,
    budget: null,
    deadLettersMax: -1n,
    command: 'cancel',
    jobId: `${stopped.jobId}-1`,
    commandId: 'scene-cancel',
    actor: 'scene',
    reason: HOSTILE,
  });
  await waitFor('the series to be stopped', async () => {
    return (await scene.jobLog.series()).get(stopped.jobId)?.status === 'STOPPED';
  });

  const deleted = { jobId: 'deleted', topic: events, handler: 'count' };
  await scene.createSeries(deleted, HOUR_MS);
  await scene.orderSeries(deleted.jobId, 'delete', ({ status }) => status === 'DELETED');
  return [hourly.jobId, stopped.jobId, deleted.jobId];
}

/** Parked records, a permit and a rate that are waited for, a job that was killed, and one that used up its budget. */
async function playSteered(scene: Scene): Promise<void> {
  const parcels = await scene.topic('parcels', { partitions: 2, records: 300 });
  for (const value of ['later one', `later ${HOSTILE}`]) await produce(parcels, [{ value }], { partition: 0 });
  await scene.submit({ jobId: 'put-off', topic: parcels, handler: 'flaky', attempts: 100 }, 'RUNNING');
  const slowly = { topic: parcels, handler: 'slow', rate: 2 };
  await scene.submit({ ...slowly, jobId: 'one-at-a-time', concurrency: 1 }, 'RUNNING');
  await scene.submit({ ...slowly, jobId: 'rests' }, 'RUNNING');
  const kill = { command: 'kill', jobId: 'rests', commandId: 'scene-kill', actor: 'scene', reason: HOSTILE };
  await scene.jobLog.command({
    formatVersion: 1,
    force: false,
    deadlineMs: 0n,
    budget: null,
    deadLettersMax: -1n,
    ...kill,
  });
  const budget = { secondsMax: 3600n, chunksMax: 1n, failuresMax: 0n };
  await scene.submit({ ...slowly, jobId: 'spends', rate: 100, chunkRecords: 10, budget }, 'SUSPENDED');
}

/** Somebody begins a transaction and does not end it. */
async function openTransaction(scene: Scene) {
  const topic = await scene.topic('ledger', { partitions: 1, records: 40 });
  const transaction = await beginTransaction(topic, [{ value: 'not committed yet' }], {
    kafka: scene.kafka,
    producer: { transactionTimeout: 300_000 },
  });
  await produce(topic, [{ value: 'behind it' }], { kafka: scene.kafka });
  return { topic, abort: () => transaction.abort().catch(() => {}) };
}
