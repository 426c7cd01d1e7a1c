/** Statements: whatever a table is changed by, the last event of each key is the row that stands, and no event is missing. */
import { services, uniqueNamespace } from '@tidemark/testkit';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dropDatabase } from '../../testing/drop-database.ts';
import { openTestOutbox, type TestOutbox } from '../../testing/index.ts';

/** A database of its own, because extensions are a database's. */
const namespace = uniqueNamespace('statements');
const administrator = new Client({ connectionString: services().postgres });
let outbox: TestOutbox;
let version: number;

beforeAll(async () => {
  await administrator.connect();
  await administrator.query(`create database "${namespace}"`);
  const url = new URL(services().postgres);
  url.pathname = `/${namespace}`;
  outbox = await openTestOutbox({ url: url.toString(), namespace });
  await outbox.client.query(
    'create schema x; create extension citext schema x; create extension ltree schema x; create domain x.tree as x.ltree',
  );
  const { rows } = await outbox.client.query<{ server_version_num: string }>('show server_version_num');
  version = Number(rows[0]?.server_version_num);
});

afterAll(async () => {
  await outbox.client.end();
  await dropDatabase(administrator, namespace);
  await administrator.end();
});

interface Case {
  readonly name: string;
  /** Makes the table {t} in the schema {s}. */
  readonly setup: string;
  /** Server version. */
  readonly since?: number;
  /** More arguments of attach. */
  readonly attach?: string;
  /** Of a row, as SQL; default `id::text`. */
  readonly key?: string;
  /** Each its own round trip. `{attach}` is that call; what stands behind `fails /words/: ` is refused with these words. */
  readonly statements: readonly string[];
  /** The keys of the events in order, tombstones in parentheses. */
  readonly told?: readonly string[];
}

const ROWS = 'create table {t} (id int primary key, n int, other text)';
/** How often the table was read from end to end. */
const SCANS = `(select seq_scan from pg_stat_xact_user_tables where relid = 'a.rows'::regclass)`;
const SEED = `insert into {t} values (1, 1, 'a'), (2, 2, 'b')`;

const CASES: readonly Case[] = [
  {
    name: 'ON CONFLICT: taken, passed over, changed in its key',
    setup: ROWS,
    statements: [
      `insert into {t} values (1, 1), (2, 2) on conflict do nothing`,
      `insert into {t} values (2, 3), (3, 3) on conflict do nothing`,
      `insert into {t} values (2, 9) on conflict (id) do update set n = excluded.n, id = 20`,
      `insert into {t} values (3, 9) on conflict (id) do update set n = 0 where {t}.n = 7`,
    ],
    told: ['1', '2', '3', '(2)', '20'],
  },
  {
    name: 'MERGE',
    since: 150000,
    setup: ROWS,
    statements: [
      SEED,
      `merge into {t} using (values (1, 10), (2, 20), (3, 30)) as v (id, n) on {t}.id = v.id when matched and v.id = 1 then delete
         when matched then update set n = v.n when not matched then insert (id, n) values (v.id, v.n)`,
    ],
    told: ['1', '2', '(1)', '2', '3'],
  },
  {
    name: 'COPY',
    setup: ROWS,
    statements: [`copy {t} (id, n) from program 'echo 1,2; echo 3,4' with (format csv)`],
    told: ['1', '3'],
  },
  {
    name: 'an UPDATE that changes nothing is told, one that meets no row is not',
    setup: ROWS,
    statements: [SEED, `update {t} set n = n where id = 1`, `update {t} set n = 5 where id = 7`],
    told: ['1', '2', '1'],
  },
  {
    name: 'keys that change places, and one taken over, in one statement',
    setup: 'create table {t} (id int primary key deferrable, n int, other text)',
    statements: [SEED, `update {t} set id = 3 - id`, `update {t} set id = id + 1`, `delete from {t} where id = 2`],
    told: ['1', '2', '1', '2', '2', '1', '2', '3', '(1)', '2', '(2)'],
  },
  {
    name: 'what was rolled back to a savepoint is not told',
    setup: ROWS,
    statements: [
      `begin`,
      SEED,
      `savepoint s`,
      `update {t} set id = id + 10`,
      `rollback to s`,
      `delete from {t} where id = 2`,
      `commit`,
    ],
    told: ['1', '2', '(2)'],
  },
  {
    name: 'BEFORE triggers that change the key, change the row, and suppress it',
    setup: `${ROWS}; create function {s}.mend() returns trigger language plpgsql as $$ begin
        if tg_op = 'DELETE' then return case when old.n = 0 then null else old end; end if;
        if new.n = 13 then return null; end if;
        new.id := abs(new.id); new.other := upper(new.other); return new; end $$;
      create trigger mend before insert or update or delete on {t} for each row execute function {s}.mend()`,
    statements: [
      `insert into {t} values (-1, 1, 'a'), (-2, 13, 'b'), (3, 0, 'c')`,
      `update {t} set n = 13`,
      `update {t} set id = -7, other = 'x' where id = 1`,
      `delete from {t}`,
    ],
    told: ['1', '3', '(1)', '7', '(7)'],
  },
  {
    name: 'an updatable view, a view with a rule, and a rule beside',
    setup: `${ROWS}; create view {s}.seen as select id, n from {t} where n > 0 with check option;
      create view {s}.ruled as select id from {t};
      create rule r as on delete to {s}.ruled do instead update {t} set n = -1 where id = old.id;
      create rule also as on insert to {t} where new.id = 5 do also update {t} set other = 'also' where id = 1`,
    statements: [
      `insert into {s}.seen values (1, 1), (5, 5)`,
      `update {s}.seen set n = n + 1 where id = 1`,
      `delete from {s}.ruled where id = 1`,
      `delete from {s}.seen`,
    ],
    told: ['1', '5', '1', '1', '1', '(5)'],
  },
  {
    name: 'foreign keys that cascade',
    setup: `create table {s}.parent (id int primary key); insert into {s}.parent values (1), (2);
      create table {t} (id int primary key, n int references {s}.parent on update cascade on delete cascade, other text,
        up int references {t} on delete set null)`,
    statements: [
      `insert into {t} (id, n, up) values (1, 1, null), (2, 2, null), (3, 2, 1), (4, 1, null)`,
      `update {s}.parent set id = 10 where id = 1`,
      `delete from {t} where id = 1`,
      `delete from {s}.parent where id = 2`,
    ],
    told: ['1', '2', '3', '4', '1', '4', '(1)', '3', '(2)', '(3)'],
  },
  {
    name: 'rows that move between partitions of partitions with other columns at other places',
    setup: `create table {t} (gone text, id int, n int, other text, primary key (id, n)) partition by range (n);
      alter table {t} drop gone;
      create table {s}.low partition of {t} for values from (0) to (10) partition by list (n);
      create table {s}.one partition of {s}.low for values in (1);
      create table {s}.high (other text, was int, n int not null, id int not null, primary key (id, n));
      alter table {s}.high drop was;
      alter table {t} attach partition {s}.high for values from (10) to (100);
      create table {s}.rest partition of {t} default`,
    key: 'jsonb_build_array(id, n)::text',
    statements: [
      `insert into {t} (id, n, other) values (1, 1, 'a'), (2, 11, 'b')`,
      `update {t} set n = n + 10`,
      `insert into {s}.high (id, n, other) values (3, 12, 'direct')`,
      `update {t} set n = 1000 where id = 3`,
      `delete from {t} where n = 1000`,
    ],
    told: [
      '[1, 1]',
      '[2, 11]',
      '([1, 1])',
      '[1, 11]',
      '([2, 11])',
      '[2, 21]',
      '[3, 12]',
      '([3, 12])',
      '[3, 1000]',
      '([3, 1000])',
    ],
  },
  {
    name: 'a writer that says it is a replica, row policies, and TRUNCATE, which is refused',
    setup: `${ROWS}; alter table {t} enable row level security; create policy own on {t} using (n < 5)`,
    statements: [
      `begin; set local session_replication_role = replica; insert into {t} values (1, 1), (2, 9); commit`,
      `fails /TRUNCATE of .* is refused/: truncate {t}`,
      `fails /TRUNCATE of .* is refused/: begin; set local session_replication_role = replica; truncate {t}`,
      `rollback`,
    ],
    told: ['1', '2'],
  },
  {
    name: 'columns that are added, renamed, dropped and retyped between writes, and under a prepared plan',
    setup: 'create table {t} (id int primary key, n int, other text, t text)',
    statements: [
      `insert into {t} values (1, 1, 'a', 'x')`,
      `prepare change (int) as update {t} set n = n + $1`,
      `execute change (1)`,
      `alter table {t} add column added timestamptz not null default '2026-11-29 10:30:45.123456+00', add gen int generated always as (n * 2) stored`,
      `execute change (1)`,
      `begin; update {t} set n = 9; alter table {t} rename other to renamed; execute change (1); alter table {t} drop column t; execute change (1); commit`,
      `alter table {t} alter id type bigint, alter renamed type jsonb using to_jsonb(renamed)`,
      `update {t} set id = 9007199254740993, renamed = '{"n": 1.10}'`,
      `deallocate change`,
    ],
    told: ['1', '1', '1', '1', '1', '1', '(1)', '9007199254740993'],
  },
  {
    name: 'a key column that is renamed: refused until the table is attached again',
    setup: ROWS,
    statements: [
      SEED,
      `alter table {t} rename id to nr`,
      `fails /column "id" not found in data type a.rows/: delete from {t}`,
      `{attach}`,
      `delete from {t} where nr = 1`,
      `update {t} set n = n`,
    ],
    // No row is touched by a new name: the event of 2 would hold the old one.
    key: 'nr::text',
    told: ['1', '2', '(1)', '2'],
  },
  {
    name: 'columns that are called like everything in the function, and odd names',
    setup: `create table {t} (id int primary key, t text, new text, old text, "$1" text, image text, root text, mode text, topic text, payload text,
      "a\\b'c""d%s$1$$" text, "\u{1F600}" text)`,
    statements: [
      `insert into {t} (id, t, new, old, "$1", image, "a\\b'c""d%s$1$$") values (1, 't', 'new', 'old', '$1', 'image', 'odd')`,
      `update {t} set t = null, "\u{1F600}" = 'smile'`,
    ],
    told: ['1', '1'],
  },
  {
    name: 'an odd name as key, in an odd table, under an odd type',
    setup: `create table {t} ("a\\b'c""d%s$1$$" text primary key, n int)`,
    attach: `, null, E'ty''pe\\\\ %s $1'`,
    key: `"a\\b'c""d%s$1$$"`,
    statements: [
      `alter table {t} rename to "odd\\t'a""%s$1$$"`,
      `insert into {s}."odd\\t'a""%s$1$$" select chr(i), i from generate_series(1, 130) i where i not in (34, 65)`,
      `insert into {s}."odd\\t'a""%s$1$$" values ('', 0), (repeat('é', 800), 1)`,
      `delete from {s}."odd\\t'a""%s$1$$" where n between 1 and 128`,
      `alter table {s}."odd\\t'a""%s$1$$" rename to rows`,
    ],
  },
  {
    name: 'tables that inherit are tables of their own',
    setup: `${ROWS}; create table {s}.child () inherits ({t})`,
    statements: [
      SEED,
      `insert into {s}.child values (1, 9, 'of the child'), (3, 3, 'of the child')`,
      `update {t} set n = n + 1`,
      `delete from {s}.child`,
    ],
    told: ['1', '2', '1', '2'],
  },
  {
    name: 'virtual columns, also of rows that are only ever inserted',
    since: 180000,
    setup: 'create table {t} (id int not null, n int, twice int generated always as (n * 2) virtual)',
    attach: `, array['id'], null, true`,
    statements: [`insert into {t} values (1, 10), (2, null)`],
    told: ['1', '2'],
  },
  {
    name: 'keys by a type that is not built in, found by its index',
    setup: `create table {t} (id x.citext primary key, n int);
      insert into {t} select 'K' || i, i from generate_series(1, 2000) i; analyze {t}`,
    statements: [
      `begin; set local search_path = x; select set_config('test.scans', {scans}::text, true); update {t} set n = 0 where id = 'k7'`,
      `update {t} set id = 'k7' where id = 'K7'`,
      `delete from {t} where id in ('k8', 'k9')`,
      `do $$ begin if {scans} > current_setting('test.scans')::int then raise 'scanned'; end if; end $$`,
      `commit`,
    ],
    told: ['K7', '(K7)', 'k7', '(K8)', '(K9)'],
  },
  {
    name: 'keys by a type that has an equality of its own only',
    setup: 'create table {t} (id x.tree, n int, primary key (id, n))',
    key: 'jsonb_build_array(id, n)::text',
    statements: [
      `insert into {t} values ('a.b', 1), ('a.b.c', 2)`,
      `update {t} set id = 'x'`,
      `delete from {t} where n = 1`,
    ],
    told: ['["a.b", 1]', '["a.b.c", 2]', '(["a.b", 1])', '["x", 1]', '(["a.b.c", 2])', '["x", 2]', '(["x", 1])'],
  },
  {
    name: 'values of ten megabytes, kept apart from their row, also when another column changes',
    setup: `create table {t} (id int primary key, big text, n int); alter table {t} alter big set storage external;
      insert into {t} values (1, repeat(E'\\u00e9\\n"', 2500000), 1)`,
    statements: [`update {t} set n = 2`],
    told: ['1'],
  },
];

interface Event {
  readonly key: string;
  readonly payload: string | null;
}

async function pairs(sql: string): Promise<readonly Event[]> {
  return (await outbox.client.query<Event>(sql)).rows;
}

/** The topic as compaction would leave it. */
function compacted(events: readonly Event[]): ReadonlyMap<string, string> {
  const last = new Map<string, string>();
  for (const { key, payload } of events) {
    last.delete(key);
    if (payload !== null) last.set(key, payload);
  }
  return last;
}

async function run(statement: string): Promise<void> {
  const refused = /^fails \/(.*?)\/: (.*)$/s.exec(statement);
  if (refused === null) await outbox.client.query(statement);
  else await expect(outbox.client.query(refused[2] ?? ''), statement).rejects.toThrow(new RegExp(refused[1] ?? ''));
}

async function check({ setup, attach = '', key = 'id::text', statements, told }: Case): Promise<void> {
  const { client } = outbox;
  const schema = 'a';
  const topic = 'rows';
  const attaching = `select ${outbox.schema}.attach('${schema}.rows', '${topic}'${attach})`;
  const fill = (sql: string): string =>
    sql
      .replaceAll('{t}', `${schema}.rows`)
      .replaceAll('{s}', schema)
      .replaceAll('{attach}', attaching)
      .replaceAll('{scans}', SCANS);
  await client.query(
    `rollback; drop schema if exists ${schema} cascade; delete from ${outbox.schema}.outbox; create schema ${schema}`,
  );
  await client.query(fill(setup));
  await client.query(attaching);
  for (const statement of statements) await run(fill(statement));
  const events = await pairs(`select key, payload::text as payload from ${outbox.schema}.outbox order by position`);
  const standing = await pairs(`select ${key} as key, to_jsonb(r.*)::text as payload from ${schema}.rows r`);
  if (told !== undefined)
    expect(events.map((event) => (event.payload === null ? `(${event.key})` : event.key))).toEqual(told);
  // Rows of the setup were there before they could be told.
  const touched = standing.filter((row) => events.some((event) => event.key === row.key));
  expect(compacted(events)).toEqual(compacted(touched));
  expect(touched.length).toBeGreaterThan(0);
}

for (const one of CASES)
  it(`P9, G14: ${one.name}`, async ({ skip }) => {
    skip(version < (one.since ?? 0), 'this server is older');
    await check(one);
  });
