/** Rights: what runs with those of the outbox's owner must not be told by others what to call, and must not hide rows. */
import { services, uniqueNamespace } from '@tidemark/testkit';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startPosition } from '../../position.ts';
import { dropDatabase } from '../../testing/drop-database.ts';
import { openTestOutbox, readAll, type TestOutbox } from '../../testing/index.ts';
import { PATIENT } from '../../testing/patient.ts';
import { attachTable, installOutbox, openPostgresOutbox, publish, requestJob } from './index.ts';

/** A database of its own: what is planted there meets nobody else. */
const namespace = uniqueNamespace('hostile');
const owner = `owner_${namespace}`;
const administrator = new Client({ connectionString: services().postgres });
let outbox: TestOutbox;

beforeAll(async () => {
  await administrator.connect();
  await administrator.query(`create database "${namespace}"`);
  const url = new URL(services().postgres);
  url.pathname = `/${namespace}`;
  outbox = await openTestOutbox({ url: url.toString(), namespace });
});

afterAll(async () => {
  await dropDatabase(administrator, namespace);
  await administrator.query(`drop role if exists "${owner}"`);
  await administrator.end();
});

/** Of everything that the outbox calls by a bare name there is another one now, and it stands first on the search path. */
async function plant(client: Client): Promise<number> {
  await client.query(`
    create schema evil;
    do $do$
    declare
      found record;
    begin
      for found in
        select distinct p.oid, p.proname, pg_get_function_identity_arguments(p.oid) as arguments, pg_get_function_result(p.oid) as result
        from pg_proc p
        join (select regexp_split_to_table(prosrc, '\\W+') as word from pg_proc where pronamespace = '${outbox.schema}'::regnamespace
              union select unnest(array['to_char', 'min', 'max', 'now', 'pg_read_file', 'pg_walfile_name', 'pg_logical_emit_message',
                'pg_visible_in_snapshot', 'pg_current_snapshot', 'pg_current_wal_insert_lsn', 'pg_snapshot_xmax'])) as used
          on used.word = p.proname
        where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f'
      loop
        begin
          execute format('create function evil.%I(%s) returns %s language plpgsql as $f$ begin raise exception ''planted''; end $f$',
            found.proname, found.arguments, found.result);
        exception when others then null; -- kinds of arguments that this language does not take
        end;
      end loop;
      for found in select o.oprname, o.oprleft::regtype as l, o.oprright::regtype as r, o.oprresult::regtype as result
        from pg_operator o where o.oprname in ('=', '<>', '<', '>', '<=', '>=', '||', '->', '->>', '?', '-', '+', '*', '@>', '~') and o.oprleft = any (array['int4', 'int8', 'text', 'numeric', 'xid8', 'jsonb', 'float8', 'name', 'oid', 'bool', 'timestamptz', 'interval', 'pg_snapshot', 'anyarray', 'record']::regtype[])
      loop
        begin
          execute format('create function evil.planted(%s, %s) returns %s language plpgsql as $f$ begin raise exception ''planted''; end $f$',
            found.l, found.r, found.result);
        exception when others then null;
        end;
        begin
          execute format('create operator evil.%s (leftarg = %s, rightarg = %s, function = evil.planted)', found.oprname, found.l, found.r);
        exception when others then null;
        end;
      end loop;
    end $do$;
    create function evil.times(text, interval) returns interval language plpgsql as $f$ begin raise exception 'planted'; end $f$;
    create operator evil.* (leftarg = text, rightarg = interval, function = evil.times);
    create temp table outbox (like ${outbox.schema}.outbox); create temp table captures (like ${outbox.schema}.captures);
    set search_path = evil, pg_temp, pg_catalog`);
  const { rows } = await client.query<{ count: number }>(
    `select (select pg_catalog.count(*) from pg_catalog.pg_proc where pronamespace operator(pg_catalog.=) 'evil'::pg_catalog.regnamespace)::pg_catalog.int4 as count`,
  );
  return rows[0]?.count ?? 0;
}

it('P9: functions, operators and tables that stand ahead on the search path are never called', async () => {
  const { client, schema } = outbox;
  await client.query(`create schema app; create table app.a (id text primary key, n numeric); create table app.d (id int primary key deferrable);
    create table app.l (id int not null, n int)`);
  const hostile = await outbox.connect();
  expect(await plant(hostile)).toBeGreaterThan(150);
  await expect(hostile.query(`select quote_literal(1)`)).rejects.toThrow('planted');

  await installOutbox(hostile, { namespace });
  await attachTable(hostile, { namespace, table: 'app.a', topic: 'a' });
  await attachTable(hostile, { namespace, table: 'app.d', topic: 'd' });
  await attachTable(hostile, { namespace, table: 'app.l', topic: 'l', keyColumns: ['id'], appendOnly: true });
  await hostile.query(`insert into app.a values ('x', 1.10); update app.a set id = 'y'; delete from app.a; insert into app.a values ('z', 2);
    insert into app.d values (1); insert into app.l values (1, 1), (1, 2)`);
  await publish(hostile, { namespace, topic: 't', key: 'k', type: 'x', payload: '{}', headers: { own: 'h' } });
  await requestJob(hostile, { namespace, request: { topic: 't', handler: 'h' } });
  await hostile.query(`select ${schema}.detach('app.l')`);
  const { rows } = await client.query<{ events: number }>(`select count(*)::int as events from ${schema}.outbox`);
  expect(rows[0]?.events).toBe(10);

  // And the relay, whose role or database has such a path.
  await administrator.query(`alter database "${namespace}" set search_path = evil, pg_catalog`);
  const opened = openPostgresOutbox({ url: outbox.url, namespace, relay: 'main', owner: 'test', patience: PATIENT });
  try {
    const { reader, lease, hints } = opened;
    await reader.checkInstalled();
    await reader.state();
    expect(await lease.acquire(1_000)).toMatchObject({ kind: 'granted' });
    await hints.announceSleep();
    const taken = await reader.takeSnapshot();
    await reader.flushed(taken);
    const limits = { rowsMax: 4, bytesMax: 1_000_000 };
    expect((await readAll(reader, startPosition(taken.identity), limits)).rows).toHaveLength(10);
    await lease.record(taken.snapshot);
    await reader.blockers(0);
    await reader.guardPartitions();
    await reader.takeRetries();
    await reader.backlog({ snapshot: taken.snapshot, window: undefined });
    await hints.announceAwake();
    await lease.release();
  } finally {
    await opened.close();
    await administrator.query(`alter database "${namespace}" reset search_path`);
  }
});
