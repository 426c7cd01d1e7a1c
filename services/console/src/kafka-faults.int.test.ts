/** A broker of its own, because it creates topics that are asked for and then dies. */
import { deleteTopic, kafkaClient, type PrivateService, privateKafka, waitFor } from '@tidemark/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { consoleOn, type TestConsole } from './testing/console-on.ts';
import { openScene, type Scene } from './testing/scene.ts';
import * as schemas from './view/schemas.ts';

/** Several rounds of a console that is being watched. */
const ROUNDS_MS = 10_000;

let broker: PrivateService;
let scene: Scene;
let console_: TestConsole;
let topic: string;

beforeAll(async () => {
  broker = await privateKafka({ settings: { 'auto.create.topics.enable': 'true' } });
  scene = await openScene({ kafka: broker.address });
  await scene.start('distributor').logged('program.started');
  topic = await scene.topic('orders', { partitions: 2, records: 10 });
  // Nobody has the handler, so the job stays under way.
  await scene.submit({ jobId: 'stays', topic, handler: 'not-loaded' }, 'RUNNING');
  console_ = await consoleOn(scene.namespace, { kafka: broker.address });
});

afterAll(async () => {
  await console_?.stop('test');
  await scene?.close();
  await broker?.stop();
});

const lag = async () => schemas.lag.parse(await console_.json('/api/lag'));
const metrics = async () => (await console_.get('/metrics')).text();

async function topicsOfBroker(): Promise<readonly string[]> {
  const admin = kafkaClient({ kafka: broker.address }).admin();
  await admin.connect();
  try {
    return await admin.listTopics();
  } finally {
    await admin.disconnect();
  }
}

it('B3: a topic that was deleted while people look at it stays deleted', async () => {
  const looking = new AbortController();
  const stream = await fetch(new URL('/api/events?job=stays', console_.url), { signal: looking.signal });
  void stream.body?.pipeTo(new WritableStream()).catch(() => {});
  await waitFor('the lag of the job', async () => (await lag()).sum.offsets === '20');
  await deleteTopic(topic, { kafka: broker.address });
  await waitFor('the topic to be missed', async () => {
    const { rows } = await lag();
    return rows.length === 2 && rows.every(({ state }) => state === 'topic missing');
  });
  // What could bring it back is the asking, so it is asked for a while.
  await new Promise((resolve) => setTimeout(resolve, ROUNDS_MS));
  expect(await topicsOfBroker()).not.toContain(topic);
  await waitFor('the job without lags', async () => {
    const { rows } = await lag();
    return rows.length === 2 && rows.every(({ lagOffsets }) => lagOffsets === null);
  });
  looking.abort();
});

it('L1: with the broker down its figures are absent, and nothing is -1, -1001 or NaN', async () => {
  await waitFor('Kafka to be up', async () =>
    (await metrics()).includes('tidemark_service_up{service="Kafka",program="console"} 1'),
  );
  await broker.kill();
  await waitFor('Kafka to be found down', async () =>
    /^Kafka: down: /m.test(await (await console_.get('/readyz')).text()),
  );
  const page = await metrics();
  expect(page).toContain('tidemark_service_up{service="Kafka",program="console"} 0');
  expect(page).not.toMatch(/tidemark_lag_offsets\{|tidemark_lag_seconds\{|tidemark_jobs\{|-1\n|-1001|NaN/i);
  const seen = await lag();
  expect(seen.unknown).toContain('Kafka');
  expect(seen.sum).toMatchObject({ offsets: null });
});
