/** Values: an event holds what the database says of the row, whatever the session that wrote it was set to. */
import { services, uniqueNamespace } from '@tidemark/testkit';
import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTableOfEveryType, openTestOutbox, type TestOutbox, type TypedColumn } from '../../testing/index.ts';
import { attachTable } from './index.ts';

let outbox: TestOutbox;
let columns: readonly TypedColumn[];
let writer: Client;

/** How values are told, as libs/outbox/README.md says. */
const AS_TOLD = `set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set intervalstyle = 'iso_8601'; set extra_float_digits = 1;
  set bytea_output = 'hex'; set lc_monetary = 'C'; set search_path = pg_catalog; set quote_all_identifiers = off`;

beforeAll(async () => {
  outbox = await openTestOutbox({ url: services().postgres, namespace: uniqueNamespace('types') });
  const { client, schema, namespace } = outbox;
  columns = await createTableOfEveryType(client, `${schema}.source`);
  await client.query(`create table ${schema}.t (like ${schema}.source including all);
    create table ${schema}.log (like ${schema}.source);
    create domain ${schema}.positive as numeric check (value > 0);
    create domain ${schema}.name as text collate "C" not null default 'n';
    create type ${schema}.mood as enum ('so "so"', 'it''s', '');
    create type ${schema}.inner as (at timestamptz, "Größe" ${schema}.positive, moods ${schema}.mood[]);
    create type ${schema}.outer as ("a b" ${schema}.inner, list ${schema}.inner[], doc jsonb);
    create table ${schema}.own (id ${schema}.name primary key, n ${schema}.positive, mood ${schema}.mood, one ${schema}.outer,
      many ${schema}.outer[], bits bit(3), fixed char(5), short varchar(3), amount numeric(30,10), span interval day to second(3),
      doubled numeric generated always as (n * 2) stored, nr int generated always as identity)`);
  for (const table of ['t', 'own']) await attachTable(client, { namespace, table: `${schema}.${table}`, topic: table });
  await attachTable(client, { namespace, table: `${schema}.log`, topic: 'log', keyColumns: ['id'], appendOnly: true });
  writer = await outbox.connect();
  await setStrangely(writer);
});

afterAll(() => outbox.drop());

/** Every switch that a user has over how statements and values are read and printed, turned from where it stands. */
async function setStrangely(session: Client): Promise<void> {
  const { rows } = await session.query<{ name: string; value: string }>(`
    select name, case vartype when 'bool' then case setting when 'on' then 'off' else 'on' end
        else (select v from unnest(enumvals) v where v <> setting order by v desc limit 1) end as value
    from pg_settings
    where context = 'user' and vartype in ('bool', 'enum') and name !~ 'transaction'
      and category ~ '^(Client Connection Defaults|Version and Platform Compatibility)'`);
  for (const { name, value } of rows) await session.query(`select set_config($1, $2, false)`, [name, value]);
  await session.query(`set timezone = 'Asia/Kathmandu'; set datestyle = 'German, DMY'; set extra_float_digits = -15`);
  // Few servers have other locales than C; the last one that is there stays.
  for (const locale of ['en_US.utf8', 'en_IN.utf8', 'de_DE.utf8'])
    await session.query(`select set_config('lc_monetary', $1, false)`, [locale]).catch(() => {});
}

async function asTold(): Promise<Client> {
  const reader = await outbox.connect();
  await reader.query(AS_TOLD);
  return reader;
}

it('P9, G8: every type there is, and arrays of it, from a session in which every switch is turned', async () => {
  const { schema } = outbox;
  await writer.query(`insert into ${schema}.t select * from ${schema}.source; insert into ${schema}.log select * from ${schema}.source;
    update ${schema}.t set id = id`);
  const reader = await asTold();
  const { rows: told } = await reader.query<{ topic: string; events: number; wrong: number }>(`
    select o.topic, count(*)::int as events, (count(*) filter (where o.payload::text <> to_jsonb(t.*)::text))::int as wrong
    from ${schema}.outbox o join ${schema}.t t on t.id::text = o.key where o.topic in ('t', 'log') group by 1 order by 1`);
  const { rows } = await reader.query<{ count: number }>(`select count(*)::int as count from ${schema}.source`);
  const count = rows[0]?.count ?? 0;
  expect(count).toBeGreaterThan(5);
  expect(told).toEqual([
    { topic: 'log', events: count, wrong: 0 },
    { topic: 't', events: 2 * count, wrong: 0 },
  ]);
  expect(await notTheSameWhenReadBack(reader)).toEqual([
    // A column that holds JSON's null is told as one that holds nothing.
    { name: 'c jsonb', stored: 'null', back: null },
  ]);
});

/** JSON in an array that is JSON itself: where the one ends and the other begins only the type tells. */
const AMBIGUOUS = ['a json', 'a jsonb'];
/** Told as arrays, and taken back only as their own text. */
const VECTORS = ['c int2vector', 'c oidvector'];

/** The database takes every event for a row again: what differs from the stored one. */
async function notTheSameWhenReadBack(reader: Client): Promise<readonly object[]> {
  const { schema } = outbox;
  const names = columns.map(({ column }) => column.slice(1, -1)).filter((name) => !AMBIGUOUS.includes(name));
  const pairs = names.map(
    (name) => `('${name}', t."${name}"::text, ${VECTORS.includes(name) ? vector(name) : `back."${name}"::text`})`,
  );
  const { rows } = await reader.query<object>(`
    select distinct pair.* from ${schema}.outbox o join ${schema}.source t on t.id::text = o.key
    cross join lateral jsonb_populate_record(null::${schema}.source, o.payload - array['${[...AMBIGUOUS, ...VECTORS].join("', '")}']) as back
    cross join lateral (values ${pairs.join(', ')}) as pair (name, stored, back)
    where o.topic = 't' and pair.stored is distinct from pair.back`);
  return rows;
}

function vector(name: string): string {
  return `case jsonb_typeof(o.payload -> '${name}') when 'array' then
    array_to_string(array(select jsonb_array_elements_text(o.payload -> '${name}')), ' ') end`;
}

it('P9, G8: domains, enums, composite types in composite types, generated and identity columns', async () => {
  const { schema } = outbox;
  await writer.query(`insert into ${schema}.own (id, n, mood, one, many, bits, fixed, short, amount, span) values
    ('1', 1.10, 'so "so"', row(row('2026-11-29 10:30:45.123456+05:45', 2.50, array['it''s', '']::${schema}.mood[]), null, '{"n": 1.0}'),
     array[row(null, array[row(null, 3, null)::${schema}.inner], 'null'), null]::${schema}.outer[], '101', 'ab', ' x', 0.1, '1 02:03:04.0056'),
    ('2', null, null, null, '{}', null, null, null, 12345678901234567890.1234567890, null);
    insert into ${schema}.own (n) values (7)`);
  const reader = await asTold();
  const { rows } = await reader.query<{ payload: string }>(
    `select payload::text as payload from ${schema}.outbox where topic = 'own' order by position`,
  );
  const { rows: said } = await reader.query<{ payload: string }>(
    `select to_jsonb(own.*)::text as payload from ${schema}.own order by nr`,
  );
  expect(rows).toEqual(said);
  expect(rows[0]?.payload).toBe(
    '{"n": 1.10, "id": "1", "nr": 1, "one": {"a b": {"at": "2026-11-29T04:45:45.123456+00:00", "moods": ["it\'s", ""], "Größe": 2.50}, "doc": {"n": 1.0}, "list": null}, "bits": "101", "many": [{"a b": null, "doc": null, "list": [{"at": null, "moods": null, "Größe": 3}]}, null], "mood": "so \\"so\\"", "span": "P1DT2H3M4.006S", "fixed": "ab   ", "short": " x", "amount": 0.1000000000, "doubled": 2.20}',
  );
});
