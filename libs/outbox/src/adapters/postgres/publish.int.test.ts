import { services, uniqueNamespace } from '@tidemark/testkit';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openTestOutbox, type TestOutbox } from '../../testing/index.ts';
import { grantOutbox, installOutbox, Permission, publish, requestJob } from './index.ts';

async function openOutbox(): Promise<TestOutbox> {
  const outbox = await openTestOutbox({ url: services().postgres, namespace: uniqueNamespace('publish') });
  onTestFinished(() => outbox.drop());
  return outbox;
}

/** Of what is refused nothing stays, so all refusals may share an outbox. */
let shared: TestOutbox;

beforeAll(async () => {
  shared = await openTestOutbox({ url: services().postgres, namespace: uniqueNamespace('refused') });
});

afterAll(() => shared.drop());

/** A session as an ordinary role without any right of its own. */
async function openAsApplication(outbox: TestOutbox): Promise<{ client: Client; role: string }> {
  const role = `app_${outbox.namespace}`;
  await outbox.client.query(`create role "${role}" login`);
  const url = new URL(outbox.url);
  url.username = role;
  const client = new Client({ connectionString: url.toString() });
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    const last = new Client({ connectionString: outbox.url });
    await last.connect();
    await last.query(`drop owned by "${role}"; drop role "${role}"`);
    await last.end();
  });
  return { client, role };
}

describe('installing', () => {
  it('is idempotent and may happen at the same time in several places', async () => {
    const outbox = await openOutbox();
    const sessions = await Promise.all([outbox.connect(), outbox.connect()]);
    expect(await Promise.all(sessions.map((session) => installOutbox(session, outbox)))).toEqual([[], []]);
  });
});

describe('publish', () => {
  it('keeps the exact text of numbers, and rolls back with its transaction', async () => {
    const outbox = await openOutbox();
    const { client, namespace, schema } = outbox;
    const position = await publish(client, {
      namespace,
      topic: 'events',
      key: 'k',
      type: 'happened',
      payload: '{"id":9007199254740993,"amt":1.10}',
      headers: { trace: 'abc', none: null },
    });
    await client.query('begin');
    await publish(client, { namespace, topic: 'events', key: 'k', type: 'never', payload: null });
    await client.query('rollback');
    const { rows } = await client.query(`select position, key, type, payload::text, headers from ${schema}.outbox`);
    expect(rows).toEqual([
      {
        position: position.toString(),
        key: 'k',
        type: 'happened',
        payload: '{"id": 9007199254740993, "amt": 1.10}',
        headers: { trace: 'abc', none: null },
      },
    ]);
  });

  it.each([
    [{ topic: 'no spaces' }, /legal topic name/],
    [{ topic: '..' }, /legal topic name/],
    [{ type: '' }, /needs a type/],
    [{ headers: { ce_id: 'mine' } }, /'ce_id' is written by the relay/],
    [{ headers: { tm_position: '1' } }, /written by the relay/],
  ])('refuses %j', async (change, reason) => {
    const event = { namespace: shared.namespace, topic: 't', key: 'k', type: 'x', payload: '{}', ...change };
    await expect(publish(shared.client, event)).rejects.toThrow(reason);
  });

  it('P9: draws positions under the lock of the key, so the order of commits is theirs', async () => {
    const outbox = await openOutbox();
    const { namespace, schema } = outbox;
    const [first, second] = await Promise.all([outbox.connect(), outbox.connect()]);
    if (first === undefined || second === undefined) throw new Error('no sessions');
    await first.query('begin');
    await publish(first, { namespace, topic: 't', key: 'k', type: 'x', payload: '1' });
    let isPublished = false;
    const waiting = publish(second, { namespace, topic: 't', key: 'k', type: 'x', payload: '2' }).finally(() => {
      isPublished = true;
    });
    // Other keys, and whoever does not ask for order, do not wait.
    await publish(outbox.client, { namespace, topic: 't', key: 'other', type: 'x', payload: '3' });
    await publish(outbox.client, { namespace, topic: 't', key: 'k', type: 'x', payload: '4', ordered: false });
    expect(isPublished).toBe(false);
    await first.query('commit');
    await waiting;
    const { rows } = await outbox.client.query<{ payload: number }>(
      `select payload from ${schema}.outbox where key = 'k' order by position`,
    );
    expect(rows.map((row) => row.payload)).toEqual([1, 4, 2]);
  });

  it('bulk publishing takes one lock for the topic instead of one a key', async () => {
    const outbox = await openOutbox();
    const { client, schema } = outbox;
    await client.query('begin');
    await client.query(`select ${schema}.publish('bulk', i::text, 'x', '{}') from generate_series(1, 5000) i`);
    const { rows } = await client.query<{ locks: number }>(
      `select count(*)::int as locks from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
    );
    await client.query('rollback');
    expect(rows[0]?.locks).toBeLessThanOrEqual(1_002);
  });
});

describe('requestJob', () => {
  it('fills in the defaults of the schema and draws an id', async () => {
    const outbox = await openOutbox();
    const { client, namespace, schema } = outbox;
    const id = await requestJob(client, {
      namespace,
      request: { topic: 'orders', handler: 'count', deadLettersMax: 9_223_372_036_854_775_807n },
    });
    const { rows } = await client.query<{ payload: string; topic: string; key: string }>(
      `select topic, key, payload::text from ${schema}.outbox`,
    );
    expect(rows.map(({ topic, key }) => ({ topic, key }))).toEqual([{ topic: `${namespace}.jobs`, key: id }]);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(rows[0]?.payload).toContain('"deadLettersMax": 9223372036854775807');
    expect(JSON.parse(rows[0]?.payload ?? '')).toMatchObject({
      jobId: id,
      topic: 'orders',
      handler: 'count',
      formatVersion: 1,
      parameters: {},
      from: 'earliest',
      to: 'now',
      ordering: 'none',
      chunkRecords: 1000,
      chunkBytes: 1_048_576,
      concurrency: 0,
      rangesPerPartition: 1,
      attempts: 5,
      onLost: 'stop',
      acceptDuplicates: false,
      priority: 0,
      note: '',
      requestedBy: '',
    });
  });

  it.each<[string, RegExp]>([
    ['{}', /needs 'topic', 'handler'/],
    ['[]', /JSON object/],
    ['{"topic":"t"}', /needs 'handler'/],
    ['{"topic":"t","handler":"h","chunk":1}', /has no field 'chunk'/],
    ['{"topic":"t","handler":"h","chunkRecords":0}', /'chunkRecords' \(1 to 2147483647\)/],
    ['{"topic":"t","handler":"h","chunkRecords":1.5}', /whole numbers: 'chunkRecords'/],
    ['{"topic":"t","handler":"h","attempts":"5"}', /whole numbers: 'attempts'/],
    ['{"topic":"t","handler":"h","deadLettersMax":9223372036854775808}', /'deadLettersMax'/],
    ['{"topic":"t","handler":"h","from":1700000000}', /must be strings: 'from'/],
    ['{"topic":"t","handler":"h","ordering":"random"}', /ordering is none, partition or key/],
    ['{"topic":"t","handler":"h","onLost":"x"}', /onLost is stop or skip/],
    ['{"topic":"t","handler":"h","acceptDuplicates":"no"}', /acceptDuplicates is true or false/],
    ['{"topic":"t","handler":"h","parameters":{"a":1}}', /parameters is an object of strings/],
    ['{"topic":"t","handler":"h","parameters":[]}', /parameters is an object of strings/],
    ['{"topic":"t","handler":"h","jobId":"a b"}', /not a job id: 'a b'/],
  ])('refuses %s', async (request, reason) => {
    await expect(shared.client.query(`select ${shared.schema}.request_job($1::jsonb)`, [request])).rejects.toThrow(
      reason,
    );
    const { rows } = await shared.client.query(`select from ${shared.schema}.outbox`);
    expect(rows).toEqual([]);
  });
});

describe('what an application may do', () => {
  it('is exactly what was granted, and never to write the table or the topics of Tidemark', async () => {
    const outbox = await openOutbox();
    const { namespace, schema } = outbox;
    const { client, role } = await openAsApplication(outbox);
    const event = { namespace, topic: 't', key: 'k', type: 'x', payload: '{}' };
    await expect(publish(client, event)).rejects.toThrow(/permission denied for schema/);
    await grantOutbox(outbox.client, { namespace, role, permission: Permission.publish });
    await publish(client, event);
    await expect(publish(client, { ...event, topic: `${namespace}.jobs` })).rejects.toThrow(
      /belongs to Tidemark itself/,
    );
    await expect(requestJob(client, { namespace, request: { topic: 't', handler: 'h' } })).rejects.toThrow(
      /permission denied for function request_job/,
    );
    for (const statement of [
      `insert into ${schema}.outbox (topic, key, type) values ('t', 'k', 'x')`,
      `select * from ${schema}.outbox`,
      `delete from ${schema}.outbox`,
      `select ${schema}.lock_key('t', 'k')`,
      `select ${schema}.attach('pg_class', 't')`,
    ]) {
      await expect(client.query(statement)).rejects.toThrow(/permission denied/);
    }
    await grantOutbox(outbox.client, { namespace, role, permission: Permission.requestJob });
    await requestJob(client, { namespace, request: { topic: 't', handler: 'h' } });
  });

  it('is caught by the trigger without any right on the outbox', async () => {
    const outbox = await openOutbox();
    const { schema } = outbox;
    const { client, role } = await openAsApplication(outbox);
    const table = `"public"."t_${outbox.namespace}"`;
    await outbox.client.query(`create table ${table} (id int primary key); grant insert on ${table} to "${role}"`);
    onTestFinished(async () => {
      const last = new Client({ connectionString: outbox.url });
      await last.connect();
      await last.query(`drop table ${table}`);
      await last.end();
    });
    await outbox.client.query(`select ${schema}.attach('${table}', 'mine')`);
    await client.query(`insert into ${table} values (1)`);
    const { rows } = await outbox.client.query<{ key: string }>(`select key from ${schema}.outbox`);
    expect(rows).toEqual([{ key: '1' }]);
  });
});
