/**
 * A namespace in which much is going on: programs of ours as children, jobs in every state that a page shows, and texts
 * that would run if anybody took them for markup.
 */
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

/** Everything that the pages can show, at once. */
export async function playEverything(
  scene: Scene,
): Promise<{ readonly jobIds: readonly string[]; close(): Promise<void> }> {
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

  const letters = await scene.topic('letters', { partitions: 1, records: 60 });
  await produce(letters, [{ value: 'bad one' }, { value: 'skip me' }, { value: `bad ${HOSTILE}` }], {});
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

  const open = await openTransaction(scene);
  await scene.submit({ jobId: 'waits-for-writer', topic: open.topic, handler: 'count' }, 'RUNNING');
  return {
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
