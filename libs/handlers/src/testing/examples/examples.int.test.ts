import { readdir, readFile } from 'node:fs/promises';
import { services, uniqueNamespace } from '@tidemark/testkit';
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { classifyFault, shapeFaults } from '../../../index.ts';
import { tokenTableSql } from '../../adapters/postgres/index.ts';
import { contextOf, eventsOf, interruptEverywhere } from '../index.ts';
import { createGivePoints } from './give-points.ts';
import { checkGivePoints } from './give-points-check.ts';
import { handlers } from './handlers.ts';
import { createShipOrders } from './ship-orders.ts';
import { createWelcome } from './welcome.ts';
import { checkWelcome } from './welcome-check.ts';

const schema = uniqueNamespace('examples');
const pool = new Pool({ connectionString: services().postgres, options: `-c search_path=${schema}` });

beforeAll(async () => {
  await pool.query(`
    create schema ${schema};
    create table welcome_mails (user_id bigint primary key, email text not null, written_at timestamptz not null default now());
    create table orders (id bigint primary key, state text not null);
    create table customers (id bigint primary key, points int not null);
    insert into customers values (1, 0), (2, 0), (3, 0);
    create table points_given (event text primary key, customer_id bigint not null, points int not null)`);
  await pool.query(tokenTableSql());
});

afterAll(async () => {
  await pool.query(`drop schema ${schema} cascade`);
  await pool.end();
});

async function rowsOf(text: string): Promise<readonly unknown[]> {
  return (await pool.query(text)).rows;
}

it('are the blocks of the README, to the letter, and all of them', async () => {
  const readme = await readFile(new URL('../../../README.md', import.meta.url), 'utf8');
  const blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code);
  const names = (await readdir(new URL('.', import.meta.url))).filter((name) => !name.endsWith('.test.ts'));
  const examples = await Promise.all(names.map((name) => readFile(new URL(name, import.meta.url), 'utf8')));
  expect(new Set(blocks)).toEqual(new Set(examples));
});

it('are handlers that a worker takes', () => {
  expect(handlers.map((handler) => [handler.name, shapeFaults(handler)])).toEqual([
    ['welcome', []],
    ['ship-orders', []],
    ['give-points', []],
  ]);
});

it('welcome writes each user once, wherever it is interrupted', async () => {
  const snapshot = (): Promise<readonly unknown[]> =>
    rowsOf('select user_id, email from welcome_mails order by user_id');
  await interruptEverywhere((probe) => createWelcome(probe.pool(pool)), {
    events: eventsOf([
      { user_id: 1n, email: 'one@example.org' },
      { user_id: 2n, email: null },
      null,
      { user_id: 3n, email: 'three@example.org' },
    ]),
    reset: () => pool.query('delete from welcome_mails'),
    snapshot,
  });
  expect(await snapshot()).toEqual([
    { user_id: '1', email: 'one@example.org' },
    { user_id: '3', email: 'three@example.org' },
  ]);
});

it('welcome knows which mails are written, and which are due', async () => {
  await checkWelcome(pool);
});

it('ship-orders moves paid orders only, wherever it is interrupted', async () => {
  const snapshot = (): Promise<readonly unknown[]> => rowsOf('select id::int, state from orders order by id');
  await interruptEverywhere((probe) => createShipOrders(probe.pool(pool)), {
    events: eventsOf([{ id: 1n }, { id: 2n }, { id: 404n }, null]),
    reset: () => pool.query(`delete from orders; insert into orders values (1, 'PAID'), (2, 'CANCELLED')`),
    snapshot,
  });
  expect(await snapshot()).toEqual([
    { id: 1, state: 'SHIPPED' },
    { id: 2, state: 'CANCELLED' },
  ]);
});

it('give-points adds up, wherever it is interrupted, and fences', async () => {
  const { tried } = await checkGivePoints(pool);
  // Connect, begin, token, rows, sums, commit.
  expect(tried).toHaveLength(6 * 5 + 5);
  expect(await rowsOf('select id::int, points from customers order by id')).toEqual([
    { id: 1, points: 20 },
    { id: 2, points: 10 },
    { id: 3, points: 0 },
  ]);
});

it('give-points refuses a batch with a record without a value as bad, and writes nothing of it', async () => {
  await pool.query('delete from points_given');
  const { handleBatch, classify } = createGivePoints(pool);
  const error = await Promise.resolve(
    handleBatch?.(eventsOf([{ customer_id: 3n, points: 5 }, null]), contextOf()),
  ).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(classifyFault(error, classify).kind).toBe('data');
  expect(await rowsOf('select * from points_given')).toEqual([]);
});
