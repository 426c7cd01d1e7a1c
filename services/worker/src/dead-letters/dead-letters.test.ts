import { TidemarkError } from '@tidemark/keyspace';
import type { LogCluster, LogWriter } from '@tidemark/log';
import { createMemoryCluster } from '@tidemark/log/testing';
import { expect, it } from 'vitest';
import { record } from '../testing/chunks.ts';
import type { DeadLetter } from './dead-letter-record.ts';
import { DeadLetters } from './dead-letters.ts';

const letter: DeadLetter = {
  jobId: 'job',
  handler: 'h',
  topic: 't',
  topicId: 'id',
  partition: 0,
  rangeId: 'range',
  token: 'token',
  record: record(1),
  attempt: 1,
  faultClass: 'data',
  error: 'bad',
};
const down = () => new TidemarkError({ code: 'DOWN', class: 'unavailable', message: 'down' });

/** Counts connections as the real writer makes them: an append connects, also after a close. */
function setUp(append: (call: number) => Promise<void>) {
  const memory = createMemoryCluster();
  memory.createTopic('t');
  const seen = { opened: 0, connected: false, appends: 0 };
  const openWriter = async (): Promise<LogWriter> => {
    seen.opened += 1;
    seen.connected = true;
    return {
      append: async () => {
        seen.connected = true;
        await append(++seen.appends);
        return [];
      },
      close: async () => {
        seen.connected = false;
      },
    };
  };
  const cluster: LogCluster = {
    catalog: memory.catalog,
    openReader: () => memory.openReader(),
    openWriter,
    openTransactionalWriter: (options) => memory.openTransactionalWriter(options),
    close: () => memory.close(),
  };
  return { seen, memory, letters: new DeadLetters({ cluster, replicationFactor: 1, retentionMs: -1 }) };
}

it('keeps its one writer over failures, whichever slots queue on it', async () => {
  const { seen, letters } = setUp(async (call) => {
    if (call === 1) throw down();
  });
  const sent = await Promise.allSettled([letters.send([letter]), letters.send([letter])]);
  expect(sent.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  await letters.send([letter]);
  expect(seen.opened).toBe(1);
  await letters.close();
  expect(seen.connected).toBe(false);
});

it('is closed behind the sends that are under way, and refuses later ones', async () => {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const { seen, letters } = setUp(async () => {
    reached.resolve();
    await gate.promise;
  });
  const sending = letters.send([letter]);
  await reached.promise;
  const closing = letters.close();
  await expect(letters.send([letter])).rejects.toMatchObject({ code: 'DEAD_LETTERS_REFUSED', class: 'unavailable' });
  gate.resolve();
  await Promise.all([sending, closing]);
  expect(seen).toEqual({ opened: 1, connected: false, appends: 1 });
});

it('opens anew after an opening that failed', async () => {
  const { memory } = setUp(async () => undefined);
  memory.faults.failNext('openWriter', down());
  const letters = new DeadLetters({ cluster: memory, replicationFactor: 1, retentionMs: 7_200_000 });
  await expect(letters.send([letter])).rejects.toMatchObject({ code: 'DEAD_LETTERS_REFUSED' });
  await letters.send([letter]);
  const topic = await memory.catalog.describe('t.dlq');
  if (topic === undefined) throw new Error('no topic');
  expect(await memory.catalog.offsets(topic)).toMatchObject([{ highWatermark: 1n }]);
});

it('makes a topic that keeps letters as long as it is told, apart from its source, and leaves one that is there alone', async () => {
  const { memory } = setUp(async () => undefined);
  memory.createTopic('short', { partitionCount: 3, configs: { 'retention.ms': '1000' } });
  const send = (retentionMs: number): Promise<void> =>
    new DeadLetters({ cluster: memory, replicationFactor: 1, retentionMs }).send([{ ...letter, topic: 'short' }]);
  await send(7_200_000);
  await send(-1);
  const names = ['retention.ms', 'retention.bytes'];
  expect(Object.fromEntries(await memory.catalog.settings('short.dlq', names))).toEqual({
    'retention.ms': '7200000',
    'retention.bytes': '-1',
  });
  expect(await memory.catalog.describe('short.dlq')).toMatchObject({ partitionCount: 3 });
});
