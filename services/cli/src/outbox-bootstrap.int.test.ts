import { openTestOutbox, type TestOutbox } from '@tidemark/outbox/testing';
import { createTopic, environmentOf, services, uniqueName, uniqueNamespace } from '@tidemark/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CliRun, cli } from './testing/test-terminal.ts';

const namespace = uniqueNamespace('cli');
const env = environmentOf(namespace);
const shop = `${namespace}_shop`;
let outbox: TestOutbox;
let topic: string;

beforeAll(async () => {
  topic = await createTopic(uniqueName('cli'));
  outbox = await openTestOutbox({ url: services().postgres, namespace });
  await outbox.client.query(`create schema ${shop};
    create table ${shop}.orders (id int primary key, n int); insert into ${shop}.orders select i, i from generate_series(1, 50) i;
    analyze ${shop}.orders;
    create table ${shop}.log (room text not null); insert into ${shop}.log values ('a')`);
});

afterAll(async () => {
  await outbox.client.query(`drop schema ${shop} cascade`);
  await outbox.drop();
});

function run(...args: readonly string[]): Promise<CliRun> {
  return cli(['outbox', ...args], env);
}

function jsonOf({ out }: CliRun): unknown {
  return JSON.parse(out.join('')) as unknown;
}

async function told(): Promise<number> {
  const { rowCount } = await outbox.client.query(`select from ${outbox.schema}.outbox`);
  return rowCount ?? 0;
}

it('bootstrap before attach: exit 3, and the way out; nothing is attached so far', async () => {
  const { exitCode, notes } = await run('bootstrap', `${shop}.orders`);
  expect(exitCode).toBe(3);
  expect(notes.join('\n')).toMatch(/orders is not attached, .*Attach it first/);
  expect((await run('status')).out.join('\n')).toMatch(/no table is attached/);
});

it('is stopped between two chunks, goes on, and is shown', async () => {
  expect((await run('attach', `${shop}.orders`, '--topic', topic)).exitCode).toBe(0);
  const stopped = new AbortController();
  stopped.abort('SIGINT');
  const first = await cli(['outbox', 'bootstrap', `${shop}.orders`], env, { signal: stopped.signal });
  expect(first.exitCode).toBe(1);
  expect(first.out.join('\n')).toMatch(
    /orders: stopped after 0 of about 50 rows; "tidemark outbox bootstrap .*orders" goes on there/,
  );
  expect((await run('status')).out.join('\n')).toMatch(
    /orders +\S+ +id +change +0 of about 50 rows, last step \d+ s ago/,
  );
  const relay = (...more: readonly string[]): Promise<CliRun> => cli(['relay', 'status', ...more], env);
  expect((await relay()).out.join('\n')).toMatch(/bootstrap {2}\S+orders: 0 of about 50 rows, last step \d+ s ago/);
  expect(jsonOf(await relay('-o', 'json'))).toMatchObject({ bootstraps: [{ table: `${shop}.orders`, rowsTold: '0' }] });

  const second = await run('bootstrap', `${shop}.orders`, '--rows', '20');
  expect(second.exitCode).toBe(0);
  expect(second.out.join('\n')).toMatch(/orders: all rows are told, 50 of them; finished at /);
  expect(second.notes.join('\n')).toMatch(/orders {2}0 of about 50 rows/);
  expect(await told()).toBe(50);
  expect(jsonOf(await relay('-o', 'json'))).toMatchObject({ bootstraps: [] });
  expect((await run('status')).out.join('\n')).toMatch(/finished, 50 rows/);
  expect(jsonOf(await run('status', '-o', 'json'))).toEqual([
    {
      table: `${shop}.orders`,
      topic,
      keyColumns: ['id'],
      eventType: `${shop}.orders`,
      appendOnly: false,
      attachedAt: expect.any(String),
      bootstrap: {
        table: `${shop}.orders`,
        rowsTold: '50',
        rowsEstimated: '50',
        chunks: '3',
        startedAt: expect.any(String),
        updatedAt: expect.any(String),
        finishedAt: expect.any(String),
      },
    },
  ]);
});

it('done once, it does nothing; told to, it tells all rows again', async () => {
  expect(jsonOf(await run('bootstrap', `${shop}.orders`, '-o', 'json'))).toMatchObject({ rowsTold: '50', chunks: '3' });
  expect(await told()).toBe(50);
  expect((await run('bootstrap', `${shop}.orders`, '--restart')).exitCode).toBe(0);
  expect(await told()).toBe(100);
});

it('attach does it at once when it is told to', async () => {
  const attached = await run('attach', `${shop}.orders`, '--topic', topic, '--bootstrap', '-o', 'json');
  expect(jsonOf(attached)).toMatchObject({ topic, bootstrap: { rowsTold: '50', finishedAt: expect.any(String) } });
  expect(await told()).toBe(150);
});

it('out of patience: exit 6, and who is in the way; refused: exit 5', async () => {
  const holder = await outbox.connect();
  await holder.query(`set application_name = 'night batch'; begin; update ${shop}.orders set n = 0 where id = 7`);
  const stuck = await run('bootstrap', `${shop}.orders`, '--restart', '--patience', '0');
  await holder.query('rollback');
  expect(stuck.exitCode).toBe(6);
  expect(stuck.notes.join('\n')).toMatch(/locked is key '7' by pid \d+ \(night batch/);

  const log = [
    'attach',
    `${shop}.log`,
    '--topic',
    await createTopic(uniqueName('cli')),
    '--append-only',
    '--key',
    'room',
  ];
  const refused = await run(...log, '--bootstrap');
  expect(refused.exitCode).toBe(5);
  expect(refused.notes.join('\n')).toMatch(/rows of .*log share keys, and older ones would stand behind newer ones/);
});
