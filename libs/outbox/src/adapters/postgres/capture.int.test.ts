import { services, uniqueNamespace } from '@tidemark/testkit';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTestOutbox, type TestOutbox } from '../../testing/index.ts';
import { attachTable, detachTable, uninstallOutbox } from './index.ts';

async function openOutbox(): Promise<TestOutbox> {
  const outbox = await openTestOutbox({ url: services().postgres, namespace: uniqueNamespace('capture') });
  onTestFinished(() => outbox.drop());
  return outbox;
}

interface Event {
  readonly key: string;
  readonly payload: string | null;
}

/** Everything that was captured, in the order of position. */
async function eventsOf(outbox: TestOutbox, topic: string): Promise<readonly Event[]> {
  const { rows } = await outbox.client.query<Event>(
    `select key, payload::text as payload from ${outbox.schema}.outbox where topic = $1 order by position`,
    [topic],
  );
  return rows;
}

/** The topic as compaction would leave it: the last value of each key, tombstones gone. */
function compact(events: readonly Event[]): ReadonlyMap<string, string> {
  const last = new Map<string, string>();
  for (const { key, payload } of events) {
    if (payload === null) last.delete(key);
    else last.set(key, payload);
  }
  return last;
}

async function tableRows(outbox: TestOutbox, table: string): Promise<ReadonlyMap<string, string>> {
  const { rows } = await outbox.client.query<{ key: string; payload: string }>(
    `select id::text as key, to_jsonb(t)::text as payload from ${table} t`,
  );
  return new Map(rows.map((row) => [row.key, row.payload]));
}

describe('capture', () => {
  it('projects inserts, updates, key changes and deletes', async () => {
    const outbox = await openOutbox();
    const table = `${outbox.schema}.orders`;
    await outbox.client.query(`create table ${table} (id int primary key, state text)`);
    await attachTable(outbox.client, { namespace: outbox.namespace, table, topic: 'orders' });
    await outbox.client.query(`insert into ${table} values (1, 'new')`);
    await outbox.client.query(`update ${table} set state = 'paid'`);
    await outbox.client.query(`update ${table} set id = 2`);
    await outbox.client.query(`delete from ${table}`);
    expect(await eventsOf(outbox, 'orders')).toEqual([
      { key: '1', payload: '{"id": 1, "state": "new"}' },
      { key: '1', payload: '{"id": 1, "state": "paid"}' },
      { key: '1', payload: null },
      { key: '2', payload: '{"id": 2, "state": "paid"}' },
      { key: '2', payload: null },
    ]);
  });

  it('fires for replicated rows too, and not after detach', async () => {
    const outbox = await openOutbox();
    const table = `${outbox.schema}.orders`;
    await outbox.client.query(`create table ${table} (id int primary key)`);
    await attachTable(outbox.client, { namespace: outbox.namespace, table, topic: 'orders' });
    await outbox.client.query(`set session_replication_role = replica`);
    await outbox.client.query(`insert into ${table} values (1)`);
    await outbox.client.query(`reset session_replication_role`);
    await detachTable(outbox.client, { namespace: outbox.namespace, table });
    await outbox.client.query(`insert into ${table} values (2)`);
    expect((await eventsOf(outbox, 'orders')).map((event) => event.key)).toEqual(['1']);
    await expect(detachTable(outbox.client, { namespace: outbox.namespace, table })).rejects.toMatchObject({
      code: 'NOT_ATTACHED',
    });
  });

  it('G14: a trigger that updates the same row', async () => {
    const outbox = await openOutbox();
    const table = `${outbox.schema}.t`;
    await outbox.client.query(`
      create table ${table} (id int primary key, n int, doubled int);
      create function ${outbox.schema}.double() returns trigger language plpgsql as $$
        begin update ${table} set doubled = n * 2 where id = new.id and doubled is distinct from n * 2; return null; end $$;
      create trigger aaa_double after insert or update on ${table} for each row execute function ${outbox.schema}.double()`);
    await attachTable(outbox.client, { namespace: outbox.namespace, table, topic: 't' });
    await outbox.client.query(`insert into ${table} select i, i from generate_series(1, 5) i`);
    await outbox.client.query(`update ${table} set n = n + 10`);
    expect(compact(await eventsOf(outbox, 't'))).toEqual(await tableRows(outbox, table));
  });

  it('G14: a trigger that recomputes the siblings of a multi-row update', async () => {
    const outbox = await openOutbox();
    const table = `${outbox.schema}.t`;
    await outbox.client.query(`
      create table ${table} (id int primary key, parent int, n int, total int default 0);
      create function ${outbox.schema}.sum_up() returns trigger language plpgsql as $$
        begin
          update ${table} s set total = (select sum(n) from ${table} x where x.parent = new.parent) where s.parent = new.parent
            and s.total is distinct from (select sum(n) from ${table} x where x.parent = new.parent);
          return null;
        end $$;
      create trigger zzz_sum after insert or update of n on ${table} for each row execute function ${outbox.schema}.sum_up()`);
    await attachTable(outbox.client, { namespace: outbox.namespace, table, topic: 't' });
    await outbox.client.query(`insert into ${table} (id, parent, n) select i, i % 2, i from generate_series(1, 8) i`);
    await outbox.client.query(`update ${table} set n = n * 3`);
    expect(compact(await eventsOf(outbox, 't'))).toEqual(await tableRows(outbox, table));
  });

  it.each(['initially immediate', 'initially deferred'])(
    'G14: a deferrable primary key shifted by one (%s)',
    async (timing) => {
      const outbox = await openOutbox();
      const table = `${outbox.schema}.t`;
      await outbox.client.query(`create table ${table} (id int primary key deferrable ${timing}, name text)`);
      await attachTable(outbox.client, { namespace: outbox.namespace, table, topic: 't' });
      await outbox.client.query(`insert into ${table} select i, 'row ' || i from generate_series(1, 6) i`);
      await outbox.client.query(`update ${table} set id = id + 1`);
      expect(compact(await eventsOf(outbox, 't'))).toEqual(await tableRows(outbox, table));
      await outbox.client.query(
        `begin; update ${table} set id = id - 1; delete from ${table} where id = 3; update ${table} set id = id + 2; commit`,
      );
      const live = await tableRows(outbox, table);
      expect(live.size).toBe(5);
      expect(compact(await eventsOf(outbox, 't'))).toEqual(live);
    },
  );

  it('G14: rows that move between partitions, also into one that was added later', async () => {
    const outbox = await openOutbox();
    const table = `${outbox.schema}.t`;
    await outbox.client.query(`
      create table ${table} (id int, place text, n int, primary key (id, place)) partition by list (place);
      create table ${outbox.schema}.here partition of ${table} for values in ('here');
      create table ${outbox.schema}.there partition of ${table} for values in ('there')`);
    await attachTable(outbox.client, { namespace: outbox.namespace, table, topic: 't' });
    await outbox.client.query(`insert into ${table} select i, 'here', i from generate_series(1, 4) i`);
    await outbox.client.query(`update ${table} set place = 'there' where id <= 2`);
    await outbox.client.query(`create table ${outbox.schema}.later partition of ${table} for values in ('later')`);
    await outbox.client.query(`update ${table} set place = 'later', n = n + 1 where id >= 2`);
    const { rows } = await outbox.client.query<{ key: string; payload: string }>(
      `select jsonb_build_array(id, place)::text as key, to_jsonb(t)::text as payload from ${table} t`,
    );
    expect(compact(await eventsOf(outbox, 't'))).toEqual(new Map(rows.map((row) => [row.key, row.payload])));
    const { rows: modes } = await outbox.client.query<{ tgenabled: string }>(
      `select tgenabled from pg_trigger where tgname = $1 and tgrelid <> $2::regclass`,
      [`${outbox.namespace}_capture`, table],
    );
    expect(modes.map((row) => row.tgenabled)).toEqual(['A', 'A', 'A']);
  });

  it('a partition, and a key that is unique only within a partition, are refused', async () => {
    const outbox = await openOutbox();
    const table = `${outbox.schema}.t`;
    await outbox.client.query(`
      create table ${table} (id int, place text) partition by list (place);
      create table ${outbox.schema}.here (id int not null unique, place text);
      create table ${outbox.schema}.there (id int not null unique, place text);
      alter table ${table} alter id set not null;
      alter table ${table} attach partition ${outbox.schema}.here for values in ('here');
      alter table ${table} attach partition ${outbox.schema}.there for values in ('there')`);
    await expect(
      attachTable(outbox.client, { namespace: outbox.namespace, table, topic: 't', keyColumns: ['id'] }),
    ).rejects.toMatchObject({
      code: 'KEY_UNFIT',
    });
    await expect(
      attachTable(outbox.client, {
        namespace: outbox.namespace,
        table: `${outbox.schema}.here`,
        topic: 't',
        keyColumns: ['id'],
      }),
    ).rejects.toMatchObject({ code: 'NOT_A_TABLE', message: expect.stringMatching(/is a partition. Attach/) });
  });

  it('G8: numbers and times keep every digit, whatever the session is set to', async () => {
    const outbox = await openOutbox();
    const table = `${outbox.schema}.t`;
    await outbox.client.query(
      `create table ${table} (id bigint primary key, doc jsonb, amount numeric(30,10), at timestamptz, day date, real float8)`,
    );
    await attachTable(outbox.client, { namespace: outbox.namespace, table, topic: 't' });
    await outbox.client.query(
      `set timezone = 'Asia/Kolkata'; set datestyle = 'SQL, DMY'; set extra_float_digits = -10`,
    );
    await outbox.client.query(`insert into ${table} values
      (9223372036854775807, '{"id":9007199254740993,"amt":1.10}', 12345678901234567890.1234567890,
       '2026-11-29 10:30:45.123456+00', '0044-03-15 BC', 0.1::float8 + 0.2::float8),
      (2, null, 'NaN', 'infinity', '-infinity', '-infinity')`);
    const [first, second] = await eventsOf(outbox, 't');
    expect(first?.key).toBe('9223372036854775807');
    for (const text of [
      '"id": 9007199254740993',
      '"amt": 1.10',
      '"amount": 12345678901234567890.1234567890',
      '"real": 0.30000000000000004',
    ]) {
      expect(first?.payload).toContain(text);
    }
    expect(first?.payload).toContain('"at": "2026-11-29T10:30:45.123456+00:00"');
    expect(first?.payload).toContain('"day": "0044-03-15 BC"');
    expect(second?.payload).toContain('"at": "infinity"');
    expect(second?.payload).toContain('"amount": "NaN"');
  });

  it('G10: names that need quotes, from a session with an empty search path, and an uninstall that leaves nothing', async () => {
    const outbox = await openOutbox();
    const sales = `Sales Ops ${outbox.namespace}`;
    const { client } = outbox;
    onTestFinished(async () => {
      const last = new Client({ connectionString: outbox.url });
      await last.connect();
      await last.query(`drop schema if exists "${sales}" cascade`);
      await last.end();
    });
    await client.query(`set search_path = ''`);
    await client.query(`create schema "${sales}";
      create table "${sales}"."Order-Lines" ("select" int, "Größe" text, primary key ("select", "Größe"));
      create table "${sales}".order_lines (id int primary key);
      create table "${sales}"."with.dot" ("it's" text primary key)`);
    const attach = (table: string, topic: string) => attachTable(client, { namespace: outbox.namespace, table, topic });
    await attach(`"${sales}"."Order-Lines"`, 'Order-Lines');
    await attach(`"${sales}".order_lines`, 'order_lines');
    await attach(`"${sales}"."with.dot"`, 'with.dot');
    await client.query(`insert into "${sales}"."Order-Lines" values (1, 'groß'); update "${sales}"."Order-Lines" set "Größe" = 'klein';
      delete from "${sales}"."Order-Lines"; insert into "${sales}".order_lines values (7); insert into "${sales}"."with.dot" values ('a.b')`);
    expect(await eventsOf(outbox, 'Order-Lines')).toEqual([
      { key: '[1, "groß"]', payload: '{"select": 1, "Größe": "groß"}' },
      { key: '[1, "groß"]', payload: null },
      { key: '[1, "klein"]', payload: '{"select": 1, "Größe": "klein"}' },
      { key: '[1, "klein"]', payload: null },
    ]);
    expect(await eventsOf(outbox, 'order_lines')).toEqual([{ key: '7', payload: '{"id": 7}' }]);
    expect(await eventsOf(outbox, 'with.dot')).toEqual([{ key: 'a.b', payload: `{"it's": "a.b"}` }]);
    const { rows: told } = await client.query<{ type: string; headers: { tm_table: string } }>(
      `select type, headers from ${outbox.schema}.outbox where topic = 'with.dot'`,
    );
    expect(told).toEqual([{ type: `${sales}.with.dot`, headers: { tm_table: `"${sales}"."with.dot"` } }]);

    await expect(attach(`"${sales}".order_lines`, 'with.dot')).rejects.toMatchObject({ code: 'TOPIC_TAKEN' });
    await expect(attach(`"${sales}".order_lines`, 'Größe')).rejects.toMatchObject({
      code: 'BAD_ARGUMENT',
      message: expect.stringMatching(/legal topic name/),
    });
    await uninstallOutbox(client, { namespace: outbox.namespace });
    const { rows: left } = await client.query(
      `select tgname from pg_trigger where tgname like $1 union all select nspname from pg_namespace where nspname = $2
       union all select proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = $2`,
      [`${outbox.namespace.replaceAll('_', '\\_')}%`, outbox.namespace],
    );
    expect(left).toEqual([]);
  });
});

describe('what cannot be captured', () => {
  it('a table without primary key, a key that is not unique or may be null, TRUNCATE, a view', async () => {
    const outbox = await openOutbox();
    const { namespace, schema, client } = outbox;
    await client.query(`create table ${schema}.bare (id int, other int not null); create view ${schema}.v as select 1 as id;
      create table ${schema}.partly (id int not null, n int); create unique index on ${schema}.partly (id) where n > 0;
      create table ${schema}.fine (id int primary key)`);
    await expect(attachTable(client, { namespace, table: `${schema}.bare`, topic: 't' })).rejects.toMatchObject({
      code: 'KEY_UNFIT',
      class: 'config',
      message: expect.stringMatching(/bare has no primary key.*key_columns/),
    });
    for (const [table, column] of [
      ['bare', 'other'],
      ['bare', 'id'],
      ['partly', 'id'],
    ] as const) {
      await expect(
        attachTable(client, { namespace, table: `${schema}.${table}`, topic: 't', keyColumns: [column] }),
      ).rejects.toMatchObject({
        code: 'KEY_UNFIT',
      });
    }
    await expect(
      attachTable(client, { namespace, table: `${schema}.bare`, topic: 't', keyColumns: ['nope'] }),
    ).rejects.toMatchObject({ code: 'NO_SUCH_COLUMN' });
    await expect(attachTable(client, { namespace, table: `${schema}.v`, topic: 't' })).rejects.toMatchObject({
      code: 'NOT_A_TABLE',
    });
    await expect(attachTable(client, { namespace, table: `${schema}.gone`, topic: 't' })).rejects.toMatchObject({
      code: 'NO_SUCH_TABLE',
    });
    await expect(
      attachTable(client, { namespace, table: `${schema}.fine`, topic: `${namespace}.jobs` }),
    ).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
    await attachTable(client, { namespace, table: `${schema}.fine`, topic: 't' });
    await expect(client.query(`truncate ${schema}.fine`)).rejects.toThrow(/TRUNCATE of .*fine is refused/);
  });

  it('an append-only table may share keys, but is never updated', async () => {
    const outbox = await openOutbox();
    const { namespace, schema, client } = outbox;
    await client.query(`create table ${schema}.log (room text not null, line text)`);
    await attachTable(client, {
      namespace,
      table: `${schema}.log`,
      topic: 'log',
      keyColumns: ['room'],
      appendOnly: true,
    });
    await client.query(`insert into ${schema}.log values ('a', '1'), ('a', '2')`);
    expect(await eventsOf(outbox, 'log')).toEqual([
      { key: 'a', payload: '{"line": "1", "room": "a"}' },
      { key: 'a', payload: '{"line": "2", "room": "a"}' },
    ]);
    await expect(client.query(`update ${schema}.log set line = '3'`)).rejects.toThrow(/append only: UPDATE is refused/);
    await expect(client.query(`delete from ${schema}.log`)).rejects.toThrow(/append only: DELETE is refused/);
  });

  it('attach is alone in its transaction, waits shortly for the lock, and names who holds it', async () => {
    const outbox = await openOutbox();
    const { namespace, schema, client } = outbox;
    await client.query(`create table ${schema}.busy (id int primary key)`);
    await client.query(`begin; insert into ${schema}.busy values (1)`);
    await expect(attachTable(client, { namespace, table: `${schema}.busy`, topic: 't' })).rejects.toMatchObject({
      code: 'INSIDE_A_TRANSACTION',
    });
    await client.query('rollback');

    const holder = await outbox.connect();
    await holder.query(`set application_name = 'night batch'; begin; insert into ${schema}.busy values (1)`);
    await expect(client.query(`select ${schema}.attach('${schema}.busy', 't')`)).rejects.toThrow(
      /cannot attach .*busy: it is in use by pid \d+ \(night batch, tidemark, transaction open for/,
    );
    const attached = attachTable(client, { namespace, table: `${schema}.busy`, topic: 't' });
    await holder.query('commit');
    await attached;
    await client.query(`insert into ${schema}.busy values (2)`);
    expect((await eventsOf(outbox, 't')).map((event) => event.key)).toEqual(['2']);
  });
});
