import { existsSync } from 'node:fs';
import { run, waitHealthy } from '@tidemark/stack';
import { expect, it, onTestFinished } from 'vitest';
import {
  consoleConsumer,
  createTopic,
  deleteRecordsBefore,
  deleteTopic,
  javaEndOffsets,
  javaFill,
  javaProduce,
  privateKafka,
  privatePostgres,
  privateRedis,
  produce,
  produceTransactions,
  spawnProgram,
  uniqueName,
  waitFor,
} from '../index.ts';

async function ownTopic(partitions = 1): Promise<string> {
  const topic = await createTopic(uniqueName('testkit'), { partitions });
  onTestFinished(() => deleteTopic(topic));
  return topic;
}

it('the console consumer returns committed records, byte by byte', async () => {
  const topic = await ownTopic();
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  await produceTransactions(topic, [
    { outcome: 'abort', messages: [{ key: 'gone', value: 'gone' }] }, // offset 0, marker 1
    {
      outcome: 'commit',
      messages: [
        { key: bytes, value: bytes },
        { key: null, value: null },
      ],
    }, // 2, 3, marker 4
  ]);
  await produce(topic, [{ value: 'last' }]); // 5; up to here nobody has to guess when all has come
  const records = await consoleConsumer({ topic, maxMessages: 3 });
  expect(records.map(({ offset, key, value }) => ({ offset, key, value }))).toEqual([
    { offset: 2n, key: bytes, value: bytes },
    { offset: 3n, key: null, value: null },
    { offset: 5n, key: null, value: Buffer.from('last') },
  ]);
  expect(await javaEndOffsets(topic)).toEqual(new Map([[0, 6n]]));
});

it('the Java producers write what they are told, with compression', async () => {
  const topic = await ownTopic();
  await javaProduce({
    topic,
    records: [
      { key: 'a', value: 'one' },
      { key: null, value: null },
    ],
    compression: 'zstd',
  });
  await javaFill({ topic, records: 50, recordBytes: 10, compression: 'lz4' });
  const records = await consoleConsumer({ topic, maxMessages: 52 });
  expect(records[0]).toMatchObject({ key: Buffer.from('a'), value: Buffer.from('one') });
  expect(records[1]).toMatchObject({ key: null, value: null });
  expect(records).toHaveLength(52);
});

it('records before an offset can be deleted', async () => {
  const topic = await ownTopic();
  expect(await produce(topic, [{ value: '0' }, { value: '1' }, { value: '2' }])).toBe(0n);
  await deleteRecordsBefore(topic, 0, 2n);
  const records = await consoleConsumer({ topic, maxMessages: 1 });
  expect(records.map((record) => record.offset)).toEqual([2n]);
});

it('a private Redis keeps its data over SIGKILL and refuses two slots in one command', async () => {
  const redis = await privateRedis({ extra: ['--appendfsync', 'always'] });
  onTestFinished(() => redis.stop());
  const port = new URL(redis.address).port;
  const cli = async (...words: string[]): Promise<string> =>
    (await run('redis-cli', ['-p', port, ...words])).stdout.trim();
  expect(await cli('set', 'a', '1')).toBe('OK');
  expect(await cli('mset', 'a', '1', 'b', '2')).toContain('CROSSSLOT');
  await redis.kill();
  await redis.start();
  expect(await cli('get', 'a')).toBe('1');
});

it('a private Postgres comes back after an immediate stop and after SIGKILL', async () => {
  const postgres = await privatePostgres();
  onTestFinished(() => postgres.stop());
  const sql = async (text: string): Promise<string> =>
    (await run('psql', [postgres.address, '-Atc', text])).stdout.trim();
  expect(await sql('show wal_level')).toBe('logical');
  await sql('create table kept as select 42 as answer');
  await postgres.stopImmediate();
  await postgres.start();
  expect(await sql('select answer from kept')).toBe('42');
  await postgres.kill();
  await postgres.start();
  expect(await sql('select answer from kept')).toBe('42');
});

it('a private broker leaves nothing behind', async () => {
  const kafka = await privateKafka();
  onTestFinished(() => kafka.stop());
  const on = { kafka: kafka.address };
  await createTopic('own', on);
  await produce('own', [{ value: 'x' }], on);
  expect(await consoleConsumer({ topic: 'own', maxMessages: 1, ...on })).toHaveLength(1);
  await kafka.stop();
  expect(existsSync(kafka.folder)).toBe(false);
  // The last threads of a killed virtual machine hold its port for a moment.
  await waitFor('the port to be free', async () => {
    const fault = await waitHealthy({ service: 'kafka', address: kafka.address, timeoutMs: 0 });
    return fault?.includes('ECONNREFUSED');
  });
});

it('a program that ends without the line that was waited for says so, with its last lines', async () => {
  const program = spawnProgram({ script: 'infra/stack/src/main.ts', args: ['no-such-command'] });
  await expect(program.printed('ready')).rejects.toThrow(
    /it ended \(2\) before it printed "ready"; its last lines:\n.+/,
  );
  expect(await program.exit).toEqual({ code: 2, signal: null });
  expect(program.stderr().trim()).toBe(program.lines.join('\n').trim());
});
