/** What orders the writers of a key, and what must not pass without an event. */
import { services, uniqueNamespace, waitFor } from '@tidemark/testkit';
import type { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTestOutbox, type TestOutbox } from '../../testing/index.ts';
import { PATIENT } from '../../testing/patient.ts';
import { attachTable, detachTable, openPostgresOutbox, publish } from './index.ts';

async function openOutbox(): Promise<TestOutbox> {
  const outbox = await openTestOutbox({ url: services().postgres, namespace: uniqueNamespace('order') });
  onTestFinished(() => outbox.drop());
  return outbox;
}

/** A table attached to topic `t`. */
async function openTable(columns: string): Promise<{ outbox: TestOutbox; table: string }> {
  const outbox = await openOutbox();
  const table = `${outbox.schema}.t`;
  await outbox.client.query(`create table ${table} ${columns}`);
  await attachTable(outbox.client, { namespace: outbox.namespace, table, topic: 't' });
  return { outbox, table };
}

async function eventsOf(outbox: TestOutbox): Promise<readonly { key: string; payload: object | null }[]> {
  const { rows } = await outbox.client.query<{ key: string; payload: object | null }>(
    `select key, payload from ${outbox.schema}.outbox where topic = 't' order by position`,
  );
  return rows;
}

async function pidOf(session: Client): Promise<number> {
  const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}

async function untilItWaits(outbox: TestOutbox, pid: number): Promise<void> {
  await waitFor('the session waits for a lock', async () => {
    const { rows } = await outbox.client.query<{ waits: boolean }>(
      `select cardinality(pg_blocking_pids($1)) > 0 as waits`,
      [pid],
    );
    return rows[0]?.waits === true;
  });
}

describe('P9: a key that is deferrable', () => {
  it('P9: its writers wait for each other, so the last event is the row that stays', async () => {
    const { outbox, table } = await openTable('(id int primary key deferrable initially deferred, name text)');
    const [a, b] = [await outbox.connect(), await outbox.connect()];
    const pid = await pidOf(b);
    await a.query(`begin; insert into ${table} values (1, 'a')`);
    await b.query('begin');
    const second = b.query(`insert into ${table} values (1, 'b')`);
    await untilItWaits(outbox, pid);
    await a.query(`delete from ${table} where id = 1; commit`);
    await second;
    await b.query('commit');
    expect((await eventsOf(outbox)).at(-1)).toEqual({ key: '1', payload: { id: 1, name: 'b' } });
  });

  it('P9: a transaction may hold two rows of it for a while', async () => {
    const { outbox, table } = await openTable('(id int primary key deferrable initially deferred, name text)');
    await outbox.client.query(`insert into ${table} values (1, 'old')`);
    await outbox.client.query(
      `begin; insert into ${table} values (1, 'new'); delete from ${table} where name = 'old'; commit`,
    );
    expect((await eventsOf(outbox)).at(-1)).toEqual({ key: '1', payload: { id: 1, name: 'new' } });
    await outbox.client.query(`delete from ${table}`);
    expect((await eventsOf(outbox)).at(-1)).toEqual({ key: '1', payload: null });
  });

  it('P9: a snapshot that cannot see the other writer is refused', async () => {
    const { outbox, table } = await openTable('(id int primary key deferrable, name text)');
    await outbox.client.query('begin isolation level repeatable read');
    await expect(outbox.client.query(`insert into ${table} values (1, 'x')`)).rejects.toMatchObject({
      code: '0A000',
      message: expect.stringMatching(/is deferrable, so it is captured in READ COMMITTED only/),
    });
    await outbox.client.query('rollback');
  });

  it('a unique index beside it that checks at once spares the locks', async () => {
    const outbox = await openOutbox();
    const table = `${outbox.schema}.t`;
    await outbox.client.query(
      `create table ${table} (id int primary key deferrable); create unique index on ${table} (id)`,
    );
    await attachTable(outbox.client, { namespace: outbox.namespace, table, topic: 't' });
    await outbox.client.query(`begin isolation level repeatable read; insert into ${table} values (1); commit`);
    expect(await eventsOf(outbox)).toEqual([{ key: '1', payload: { id: 1 } }]);
  });
});

it('P9: a REPEATABLE READ writer whose key was taken over is told to try again', async () => {
  const { outbox, table } = await openTable('(id int primary key, name text)');
  await outbox.client.query(`insert into ${table} values (1, 'old')`);
  const late = await outbox.connect();
  await late.query(`begin isolation level repeatable read; select from ${table}`);
  await outbox.client.query(`delete from ${table}`);
  await expect(late.query(`insert into ${table} values (1, 'new')`)).rejects.toMatchObject({ code: '40001' });
  await late.query('rollback');
  await late.query(`begin isolation level repeatable read; insert into ${table} values (1, 'new'); commit`);
  expect((await eventsOf(outbox)).at(-1)).toEqual({ key: '1', payload: { id: 1, name: 'new' } });
});

it('P9: keys that only a collation takes for equal are two keys', async () => {
  const outbox = await openOutbox();
  const { schema, client } = outbox;
  const table = `${schema}.t`;
  await client.query(`create collation ${schema}.any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    create table ${table} (name text collate ${schema}.any_case primary key)`);
  await attachTable(client, { namespace: outbox.namespace, table, topic: 't' });
  await client.query(`insert into ${table} values ('Ab'); update ${table} set name = 'aB'`);
  expect(await eventsOf(outbox)).toEqual([
    { key: 'Ab', payload: { name: 'Ab' } },
    { key: 'Ab', payload: null },
    { key: 'aB', payload: { name: 'aB' } },
  ]);
});

describe('P9: partitions', () => {
  it('P9: TRUNCATE of one is refused, also of a later one once it is found, and allowed when it is nobody’s any more', async () => {
    const { outbox, table } = await openTable('(id int primary key) partition by range (id)');
    const { schema, client, namespace } = outbox;
    const opened = openPostgresOutbox({ url: outbox.url, namespace, relay: 'main', owner: 'test', patience: PATIENT });
    onTestFinished(() => opened.close());
    await client.query(`create table ${schema}.early partition of ${table} for values from (0) to (100) partition by range (id);
      create table ${schema}.earliest partition of ${schema}.early for values from (0) to (10)`);
    await attachTable(client, { namespace, table, topic: 't' });
    await client.query(`insert into ${table} values (1)`);
    for (const part of ['t', 'early', 'earliest']) {
      await expect(client.query(`truncate ${schema}.${part}`)).rejects.toThrow(/TRUNCATE of .* is refused/);
    }

    await client.query(`create table ${schema}.later partition of ${table} for values from (100) to (200)`);
    const holder = await outbox.connect();
    await holder.query(`begin; insert into ${table} values (100)`);
    const partition = expect.stringMatching(/later$/);
    expect(await opened.reader.guardPartitions()).toEqual([
      { partition, fault: expect.stringMatching(/lock timeout/) },
    ]);
    await holder.query('commit');
    expect(await opened.reader.guardPartitions()).toEqual([{ partition, fault: undefined }]);
    expect(await opened.reader.guardPartitions()).toEqual([]);
    await expect(client.query(`truncate ${schema}.later`)).rejects.toThrow(/TRUNCATE of .*later is refused/);

    await client.query(`alter table ${table} detach partition ${schema}.later; truncate ${schema}.later`);
    await detachTable(client, { namespace, table });
    await client.query(`truncate ${schema}.earliest; truncate ${table}`);
    const { rows } = await client.query(
      `select from pg_trigger where tgrelid = '${schema}.earliest'::regclass and not tgisinternal`,
    );
    expect(rows).toEqual([]);
  });
});

it('P9: an event of its own may not pass for a row of a captured table', async () => {
  const { outbox, table } = await openTable('(id int primary key)');
  const { client, namespace } = outbox;
  const event = { namespace, topic: 't', key: '1', type: 'x', payload: '{}' };
  await expect(publish(client, event)).rejects.toThrow(/topic 't' holds the rows of table .*t: an event of its own/);
  await detachTable(client, { namespace, table });
  await publish(client, event);
});
