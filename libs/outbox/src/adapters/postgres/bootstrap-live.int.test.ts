/**
 * Bootstrap amid traffic, by two clients whose sessions are ended again and again. Every writer notes what became of a key
 * while it still holds the key's lock, so the notes of a key, in the order of their numbers, are the truth of its states.
 */
import { sleep } from '@tidemark/keyspace';
import { services, uniqueNamespace } from '@tidemark/testkit';
import { type Chance, chanceOf } from '@tidemark/testkit/chance';
import { expect, it, onTestFinished } from 'vitest';
import { startPosition } from '../../position.ts';
import type { OutboxRow } from '../../row.ts';
import { openTestOutbox, readAll, type TestOutbox } from '../../testing/index.ts';
import { PATIENT } from '../../testing/patient.ts';
import { attachTable, bootstrapTable, openPostgresOutbox } from './index.ts';

const SEED = Number(process.env['TIDEMARK_OUTBOX_SEED'] ?? Math.floor(Math.random() * 1_000_000));
/** With more rows it goes on for longer. */
const ROWS = Number(process.env['TIDEMARK_BOOTSTRAP_ROWS'] ?? 80);
/** No writer touches it, and bootstrap is not over before it has it. */
const LAST_KEY = ROWS * 2 + 2;
const WRITERS = 4;
const CHUNK_ROWS = 2;
/** Of each client. */
const ENDED_MAX = 4;

const PLAIN = 'create table {schema}.t (id int primary key, stamp text)';
const DEFERRABLE = 'create table {schema}.t (id int primary key deferrable initially deferred, stamp text)';
const PARTITIONED = `create table {schema}.t (id int primary key, stamp text) partition by range (id);
  create table {schema}.t_low partition of {schema}.t for values from (minvalue) to (${ROWS});
  create table {schema}.t_high partition of {schema}.t default`;

it.each([
  ['a plain key', PLAIN],
  ['a deferrable key', DEFERRABLE],
  ['partitions', PARTITIONED],
])(
  `P9: bootstrap of %s under traffic, with ended sessions: no key missing, no state after a newer one (seed ${SEED})`,
  async (_, definition) => {
    const outbox = await openTestOutbox({ url: services().postgres, namespace: uniqueNamespace('live') });
    onTestFinished(() => outbox.drop());
    const { client, schema, namespace } = outbox;
    await setStage(outbox, definition);
    await attachTable(client, { namespace, table: `${schema}.t`, topic: 't' });

    const chance = chanceOf(SEED);
    const over = new AbortController();
    const delivered = readOn(outbox, chance.fork('reader'), over.signal);
    const bootstrapping = new AbortController();
    const gate = await outbox.connect();
    await gate.query(`begin; update ${schema}.t set stamp = stamp where id = ${LAST_KEY}`);
    let committed = 0;
    const onCommit = (): void => {
      committed += 1;
      // Before that many it would have proved little.
      if (committed === WRITERS * 5) void gate.query('rollback');
    };
    const writing = Array.from({ length: WRITERS }, (__, i) =>
      write(outbox, chance.fork(`writer ${i}`), { signal: bootstrapping.signal, onCommit }),
    );
    const ended = await Promise.all([1, 2].map((i) => bootstrapAndCrash(outbox, chance.fork(`bootstrap ${i}`))));
    bootstrapping.abort();
    await Promise.all(writing);
    over.abort();

    expect(faultsOf(await statesOf(outbox), await delivered)).toEqual([]);
    // Otherwise it has proved little.
    expect(committed).toBeGreaterThanOrEqual(WRITERS * 5);
    expect(sum(ended)).toBeGreaterThan(0);
  },
);

/** Every second key has a row at first. `act` changes one row and notes the states of its keys. */
async function setStage({ client, schema }: TestOutbox, definition: string): Promise<void> {
  await client.query(`${definition.replaceAll('{schema}', schema)};
    insert into ${schema}.t select i * 2, 'first ' || i from generate_series(1, ${ROWS + 1}) i;
    create table ${schema}.notes (number bigint generated always as identity (cache 1), key int, image text);
    insert into ${schema}.notes (key, image) select id, to_jsonb(t)::text from ${schema}.t t;
    create function ${schema}.act(action text, one int, other int, new_stamp text) returns void language plpgsql as $$
    begin
      if action = 'insert' then
        insert into ${schema}.t select one, new_stamp where not exists (select from ${schema}.t where id = one);
      elsif action = 'delete' then
        delete from ${schema}.t where id = one;
      elsif action = 'move' then
        update ${schema}.t set id = other, stamp = new_stamp where id = one and not exists (select from ${schema}.t where id = other);
      else
        update ${schema}.t set stamp = new_stamp where id = one;
      end if;
      if found then
        insert into ${schema}.notes (key, image)
          select key, (select to_jsonb(t)::text from ${schema}.t t where t.id = key limit 1)
          from unnest(case action when 'move' then array[one, other] else array[one] end) as key;
      end if;
    end $$`);
}

async function write(
  outbox: TestOutbox,
  chance: Chance,
  { signal, onCommit }: { readonly signal: AbortSignal; readonly onCommit: () => void },
): Promise<void> {
  const session = await outbox.connect();
  const pauses = chance.fork('pauses');
  for (let turn = 0; !signal.aborted; turn += 1) {
    try {
      await session.query('begin');
      for (let i = chance.between(1, 3); i > 0; i -= 1) {
        const action = chance.pick(['insert', 'update', 'update', 'delete', 'move']);
        const savepoint = chance.oneIn(4);
        if (savepoint) await session.query('savepoint here');
        await session.query(`select ${outbox.schema}.act($1, $2, $3, $4)`, [
          action,
          chance.between(1, ROWS * 2),
          chance.between(1, ROWS * 2),
          `${chance.below(1e9)} ${turn} ${i}`,
        ]);
        if (savepoint && chance.oneIn(2)) await session.query('rollback to here');
        // So that transactions overlap; nothing waits for it to be long enough.
        await sleep(pauses.below(8));
      }
      if (chance.oneIn(6)) await session.query('rollback');
      else {
        await session.query('commit');
        onCommit();
      }
    } catch {
      // A deadlock, or a key that another was faster to bring.
      await session.query('rollback');
    }
  }
}

/** Returns how many sessions were ended before one got to the end, each after some chunks and amid the next. */
async function bootstrapAndCrash(outbox: TestOutbox, chance: Chance): Promise<number> {
  const { namespace, schema, client } = outbox;
  for (let ended = 0; ; ended += 1) {
    const session = await outbox.connect();
    const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid');
    let stepsLeft = ended < ENDED_MAX ? chance.between(2, 5) : Number.POSITIVE_INFINITY;
    let ending: Promise<unknown> | undefined;
    const onStep = (): void => {
      stepsLeft -= 1;
      if (stepsLeft === 0) ending = client.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
    };
    try {
      await bootstrapTable(session, { namespace, table: `${schema}.t`, rowsMax: CHUNK_ROWS, onStep });
      return ended;
    } catch (error) {
      expect(error).toMatchObject({ code: 'POSTGRES_UNAVAILABLE' });
    } finally {
      await ending;
    }
  }
}

/** As the relay does it: window after window, in steps of random length. */
async function readOn(
  { url, namespace }: TestOutbox,
  chance: Chance,
  signal: AbortSignal,
): Promise<readonly OutboxRow[]> {
  const opened = openPostgresOutbox({ url, namespace, relay: 'main', owner: 'test', patience: PATIENT });
  const rows: OutboxRow[] = [];
  try {
    let position = startPosition((await opened.reader.takeSnapshot()).identity);
    for (let isLast = false; !isLast; ) {
      isLast = signal.aborted;
      const window = await readAll(opened.reader, position, { rowsMax: chance.between(1, 500), bytesMax: 1_000_000 });
      rows.push(...window.rows);
      position = window.position;
      await sleep(chance.below(60));
    }
  } finally {
    await opened.close();
  }
  return rows;
}

type States = ReadonlyMap<string, readonly (string | null)[]>;

/** The states of every key in their order; of a key that had no row at first, it begins with null. */
async function statesOf({ client, schema }: TestOutbox): Promise<States> {
  const { rows } = await client.query<{ key: string; image: string | null }>(
    `select key::text, image from ${schema}.notes order by number`,
  );
  const states = new Map<string, (string | null)[]>();
  for (const { key, image } of rows) {
    const known = states.get(key) ?? (Number(key) % 2 === 0 ? [] : [null]);
    states.set(key, [...known, image]);
  }
  const { rows: standing } = await client.query<{ key: string; image: string }>(
    `select id::text as key, to_jsonb(t)::text as image from ${schema}.t t`,
  );
  const last = [...states].flatMap(([key, all]) => (typeof all.at(-1) === 'string' ? [[key, all.at(-1)]] : []));
  expect(new Map(standing.map(({ key, image }) => [key, image]))).toEqual(new Map(last as [string, string][]));
  return states;
}

/** Each event is a state of its key, none comes after a newer one, and the last is the last. */
function faultsOf(states: States, events: readonly OutboxRow[]): readonly string[] {
  const faults: string[] = [];
  const reached = new Map<string, number>();
  for (const { key, payload, headers } of events) {
    const all = states.get(key) ?? [];
    const from = reached.get(key) ?? 0;
    const found = all.indexOf(payload, from);
    if (found >= 0) reached.set(key, found);
    else faults.push(`key ${key} is told as ${payload} (${JSON.stringify(headers)}) after state ${from}: ${all[from]}`);
  }
  for (const [key, all] of states) {
    const told = reached.get(key);
    const isTold = told === undefined ? all.at(-1) === null : all[told] === all.at(-1);
    if (!isTold)
      faults.push(`key ${key} stands as ${all.at(-1)} and is told as ${told === undefined ? 'nothing' : all[told]}`);
  }
  return faults;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}
