/** Bootstrap: every row once, rendered as capture renders it. */
import { beforeAll, describe, expect, it } from 'vitest';
import { type OlderTable, type ToldEvent, useOlderTables } from '../../testing/older-tables.ts';
import { detachTable } from './index.ts';

const older = useOlderTables();

beforeAll(async () => {
  const { schema, client } = older.outbox();
  // Whole numbers backwards, by operators that the search path of our functions does not find.
  const operators = ['<', '<=', '=', '>=', '>'].map((sign, i) => {
    const meaning = ['>', '>=', '=', '<=', '<'][i];
    return `create function ${schema}.back_${i}(int, int) returns boolean language sql immutable as 'select $1 ${meaning} $2';
      create operator ${schema}.#${sign} (leftarg = int, rightarg = int, function = ${schema}.back_${i});`;
  });
  await client.query(`${operators.join(' ')}
    create function ${schema}.back_order(int, int) returns int language sql immutable as 'select pg_catalog.btint4cmp($2, $1)';
    create operator class ${schema}.backwards for type int using btree as operator 1 ${schema}.#<, operator 2 ${schema}.#<=,
      operator 3 ${schema}.#=, operator 4 ${schema}.#>=, operator 5 ${schema}.#>, function 1 ${schema}.back_order(int, int);
    create collation ${schema}.any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`);
});

describe('tells every row once, as capture would', () => {
  it.each<[string, OlderTable]>([
    [
      'a number as key',
      { columns: '(id bigint primary key, n text)', rows: `select i, 'n' || i from generate_series(-5, 5) i` },
    ],
    [
      'several columns, of which one begins long groups',
      {
        columns: '(tenant text, at timestamptz, part int, n numeric(20, 10), primary key (tenant, at, part))',
        rows: `select 't' || i % 2, '2026-11-29 10:00:00+00'::timestamptz + i / 4 * interval '1 us', i, i / 7.0 from generate_series(1, 20) i`,
      },
    ],
    [
      'texts in the order of a language',
      {
        columns: '(name text collate "en-x-icu" primary key)',
        rows: `values ('a'), ('B'), ('ä'), ('Z'), ('z'), (''), ('a b'), ('"'), ('\\')`,
      },
    ],
    [
      'a unique index with an order of its own, over columns in another order',
      {
        columns: `(a text not null, b char(4) not null, n int); create unique index on {table} (b bpchar_pattern_ops desc, a collate "C")`,
        rows: `select chr(64 + i), 'b' || i % 3, i from generate_series(1, 10) i`,
        keyColumns: ['a', 'b'],
      },
    ],
    [
      'keys in an order of another schema, beside a collation that takes cases for equal',
      {
        columns: `(name text collate {schema}.any_case not null, n int not null);
          create unique index on {table} (name, n {schema}.backwards)`,
        rows: `values ('b', 1), ('A', 1), ('a', 2), ('B', 2), ('C', 1), ('c', 2), ('c', 3)`,
        keyColumns: ['name', 'n'],
      },
    ],
    [
      'a unique index over one of the key columns',
      {
        columns: '(a int unique, b text not null, primary key (a))',
        rows: `select i, 'b' from generate_series(1, 5) i`,
        keyColumns: ['b', 'a'],
      },
    ],
    [
      'columns that are called like what is said about them',
      {
        columns: '(t text, key int, image money, "from" int, primary key (key, t, image))',
        rows: `select 'x', i, i * 1.25::money, i from generate_series(1, 5) i`,
      },
    ],
    [
      'a deferrable key',
      {
        columns: '(id int primary key deferrable initially deferred, n int)',
        rows: 'select i, i from generate_series(1, 7) i',
      },
    ],
    [
      'an append-only table',
      {
        columns: '(id uuid primary key, n int)',
        rows: 'select gen_random_uuid(), i from generate_series(1, 7) i',
        appendOnly: true,
      },
    ],
    [
      'floats, with what is no number',
      {
        columns: '(id float8 primary key)',
        rows: `values ('NaN'), ('Infinity'), ('-Infinity'), (0.1::float8 + 0.2::float8), (1e300), (-0.0)`,
      },
    ],
    [
      'bytes, intervals and lists',
      {
        columns: `(a bytea, b interval, c int[], primary key (a, b, c))`,
        rows: `select '\\x00ff', i * interval '-1 day 2 hours', array[i, 1] from generate_series(1, 5) i`,
      },
    ],
    [
      'partitions of two levels',
      {
        columns: `(id int, place text, primary key (id, place)) partition by list (place);
          create table {schema}.here partition of {table} for values in ('here') partition by range (id);
          create table {schema}.here_low partition of {schema}.here for values from (0) to (5);
          create table {schema}.here_high partition of {schema}.here default;
          create table {schema}.rest partition of {table} default`,
        rows: `select i, case when i % 3 = 0 then 'there' else 'here' end from generate_series(1, 12) i`,
      },
    ],
    [
      'names that need quotes',
      {
        name: `"Order.Lines 100%s"`,
        columns: `("select" int, "it's" text, "Größe\\" int, primary key ("it's", "select"))`,
        rows: `select i, 'x', 1 from generate_series(1, 5) i`,
        eventType: `it's \\000 "a" type`,
      },
    ],
  ])('%s', async (_, given) => {
    const { table, attach, worker, bootstrap } = await older.open(given);
    const { client, namespace, schema } = older.outbox();
    await worker.query(`set timezone = 'Asia/Kolkata'; set datestyle = 'SQL, DMY'; set extra_float_digits = -10;
      set intervalstyle = 'sql_standard'; set bytea_output = 'escape'; set lc_monetary = 'C.UTF-8'; set quote_all_identifiers = on; set search_path = ''`);
    const done = await bootstrap({ rowsMax: 3 });
    const told = await older.events();
    expect(done).toMatchObject({ rowsTold: BigInt(told.length), finishedAtMs: expect.any(Number), isOutdated: false });
    expect(done.chunks).toBeGreaterThan(1n);
    expect(told.map(({ headers }) => headers['tm_bootstrap'])).toEqual(told.map(() => 'true'));

    // The same rows once more, captured.
    await detachTable(client, { namespace, table });
    await worker.query(
      `create temp table kept as select * from ${table}; delete from ${table}; delete from ${schema}.outbox`,
    );
    await attach();
    await worker.query(`insert into ${table} select * from pg_temp.kept`);
    const byKey = (events: readonly ToldEvent[]) => new Map(events.map((event) => [event.key, event]));
    const plain = told.map(({ headers: { tm_bootstrap, ...headers }, ...event }) => ({ ...event, headers }));
    expect(byKey(plain)).toEqual(byKey(await older.events()));
    expect(new Set(told.map(({ key }) => key)).size).toBe(told.length);
  });

  it('and none of a table that inherits from it, nor of an empty one', async () => {
    const { table, bootstrap } = await older.open({
      columns: '(id int primary key)',
      rows: 'select 1 where false',
    });
    const { schema, client } = older.outbox();
    await client.query(`create table ${schema}.child () inherits (${table}); insert into ${schema}.child values (9)`);
    expect(await bootstrap()).toMatchObject({ rowsTold: 0n, finishedAtMs: expect.any(Number) });
    expect(await older.events()).toEqual([]);
  });
});
