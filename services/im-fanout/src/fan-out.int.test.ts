import { services, uniqueNamespace } from '@tidemark/testkit';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type FanOutRequest, fanOut } from './fan-out.ts';
import { createTables, dropTables } from './tables.ts';

const schema = uniqueNamespace('im');

let client: Client;

beforeAll(async () => {
  client = new Client(services().postgres);
  await client.connect();
});

afterAll(async () => {
  await dropTables(client, schema);
  await client.end();
});

/** Group 1 with members 1 (there), 2 (left), 3 (muted), 4 (there); messages 10, 11, and 12 which is recalled. */
beforeEach(async () => {
  await dropTables(client, schema);
  await createTables(client, schema);
  await client.query(`
    insert into ${schema}.users select n, 'user ' || n from generate_series(1, 4) n;
    insert into ${schema}.groups values (1, 'everybody');
    insert into ${schema}.members values (1, 1, null, false), (1, 2, now(), false), (1, 3, null, true), (1, 4, null, false);
    insert into ${schema}.messages (id, group_id, sender_id, body, recalled_at) values (10, 1, 1, 'a', null), (11, 1, 1, 'b', null), (12, 1, 1, 'c', now());`);
});

const request = (messageIds: readonly string[]): FanOutRequest => ({
  schema,
  jobId: 'job',
  rangeId: 'range',
  token: '1',
  messageIds,
  offsets: messageIds,
});

async function inbox(): Promise<readonly string[]> {
  const { rows } = await client.query<{ row: string }>(
    `select message_id || '/' || member_id as row from ${schema}.inbox order by message_id, member_id`,
  );
  return rows.map(({ row }) => row);
}

async function skips(): Promise<readonly string[]> {
  const { rows } = await client.query<{ row: string }>(
    `select message_id || '/' || coalesce(member_id::text, '-') || '/' || reason as row from ${schema}.fanout_skips order by message_id, member_id`,
  );
  return rows.map(({ row }) => row);
}

it('writes one row per message and member who is there, and a named skip for each who is not', async () => {
  expect(await fanOut(client, request(['10', '12', '999']))).toEqual(
    new Map([
      ['12', 'recalled'],
      ['999', 'deleted'],
    ]),
  );
  expect(await inbox()).toEqual(['10/1', '10/4']);
  expect(await skips()).toEqual(['10/2/left', '10/3/muted', '12/-/recalled', '999/-/deleted']);
});

it('gives no duplicate when a chunk is delivered again, whole or in part or within itself', async () => {
  await fanOut(client, request(['10', '12']));
  await fanOut(client, request(['10', '11', '12']));
  await fanOut(client, request(['11', '11', '10']));
  expect(await inbox()).toEqual(['10/1', '10/4', '11/1', '11/4']);
  expect(await skips()).toEqual(['10/2/left', '10/3/muted', '11/2/left', '11/3/muted', '12/-/recalled']);
});

it('refuses a schema name that is more than a name', async () => {
  await expect(fanOut(client, { ...request(['10']), schema: 'im; drop table users' })).rejects.toThrow(
    /cannot be the schema/,
  );
});
