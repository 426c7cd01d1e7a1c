import type { ImMessage } from '@tidemark/contracts';
import { classifyFault, type HandlerEvent } from '@tidemark/handlers';
import { contextOf, eventsOf, interruptEverywhere } from '@tidemark/handlers/testing';
import { services, uniqueNamespace } from '@tidemark/testkit';
import { Client, Pool, type PoolConfig } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createImFanout } from './handler.ts';
import { createTables, dropTables } from './tables.ts';

const schema = uniqueNamespace('im');
let client: Client;
let handler: ReturnType<typeof createImFanout>;

beforeAll(async () => {
  client = new Client(services().postgres);
  await client.connect();
  await createTables(client, schema);
  await client.query(`
    insert into ${schema}.users select n, 'user ' || n from generate_series(1, 3) n;
    insert into ${schema}.groups values (1, 'everybody');
    insert into ${schema}.members values (1, 1, null, false), (1, 2, now(), false), (1, 3, null, true);
    insert into ${schema}.messages (id, group_id, sender_id, body, recalled_at) values (10, 1, 1, 'a', null), (11, 1, 1, 'b', now()), (9007199254740993, 1, 1, 'c', null);`);
  handler = createImFanout({ postgresUrl: services().postgres, openPool: patientPool });
  await handler.open?.();
});

afterAll(async () => {
  await handler.close?.();
  await dropTables(client, schema);
  await client.end();
});

/** A busy Postgres lets in late; what a bound makes of that is no part of these tests. */
const patientPool = (settings: PoolConfig): Pool => new Pool({ ...settings, connectionTimeoutMillis: 0 });

const context = (token: string, parameters: Readonly<Record<string, string>> = { schema }) =>
  contextOf({ token, parameters });

function messages(...ids: readonly (bigint | null)[]): readonly HandlerEvent<ImMessage | null>[] {
  return eventsOf(
    ids.map((id) =>
      id === null ? null : { id, group_id: 1n, sender_id: 1n, body: '', posted_at: '', recalled_at: null },
    ),
  );
}

const batch = messages(10n, 11n, null, 404n, 9_007_199_254_740_993n);

const inbox = async (): Promise<readonly string[]> => {
  const { rows } = await client.query<{ row: string }>(
    `select message_id || '/' || member_id as row from ${schema}.inbox order by 1`,
  );
  return rows.map(({ row }) => row);
};

it('answers one outcome per event, from the live state and not from what the event says', async () => {
  expect(await handler.handleBatch?.(batch, context('2'))).toEqual([
    { kind: 'done' },
    { kind: 'skip', reason: 'recalled' },
    { kind: 'skip', reason: 'deleted' },
    { kind: 'skip', reason: 'deleted' },
    { kind: 'done' },
  ]);
  expect(await inbox()).toEqual(['10/1', '9007199254740993/1']);
});

it('delivers again without a duplicate, and answers the same', async () => {
  const first = await handler.handleBatch?.(batch, context('2'));
  expect(await handler.handleBatch?.(batch, context('3'))).toEqual(first);
  expect(await inbox()).toEqual(['10/1', '9007199254740993/1']);
});

it('answers `fenced` with the younger token that it has seen', async () => {
  await handler.handleBatch?.([], context('5'));
  expect(await handler.handleBatch?.(batch, context('4'))).toEqual({ kind: 'fenced', seen: '5' });
});

it('says what is no fault of the message: tables that are missing, a database that is down, a schema that is no name', async () => {
  const faultOf = async (work: unknown): Promise<string> => {
    const error = await Promise.resolve(work).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return classifyFault(error, handler.classify).kind;
  };
  expect(await faultOf(handler.handleBatch?.(batch, context('6', { schema: 'im_nowhere' })))).toBe('unavailable');
  expect(await faultOf(handler.handleBatch?.(batch, context('6', { schema: 'im; drop table users' })))).toBe(
    'unavailable',
  );
  const lonely = createImFanout({ postgresUrl: 'postgres://nobody@127.0.0.1:1/none' });
  await lonely.open?.();
  expect(await faultOf(lonely.handleBatch?.(batch, context('6')))).toBe('unavailable');
  await lonely.close?.();
});

it('takes a value that the tables refuse as a fault of the record', () => {
  expect(classifyFault(Object.assign(new Error('out of range'), { code: '22003' }), handler.classify).kind).toBe(
    'data',
  );
  expect(classifyFault(Object.assign(new Error('deadlock'), { code: '40P01' }), handler.classify).kind).toBe(
    'transient',
  );
  expect(classifyFault(new Error('Connection terminated unexpectedly'), handler.classify).kind).toBe('unavailable');
});

it('survives every interruption, and shuts out an owner that lost the range', async () => {
  const effects = async (): Promise<unknown> => {
    const skips = await client.query(
      `select message_id, member_id, reason from ${schema}.fanout_skips order by message_id, member_id`,
    );
    return { inbox: await inbox(), skips: skips.rows };
  };
  const { tried } = await interruptEverywhere<ImMessage>(
    (probe) =>
      createImFanout({
        postgresUrl: services().postgres,
        openPool: (settings) => probe.pool(patientPool(settings)),
      }),
    {
      events: batch,
      parameters: { schema },
      fences: true,
      reset: () =>
        client.query(
          `delete from ${schema}.inbox; delete from ${schema}.fanout_skips; delete from ${schema}.fanout_tokens`,
        ),
      snapshot: effects,
    },
  );
  // Connect, begin, token, notes, inbox, commit; from both sides, with a signal, with an older owner and with a first attempt before each.
  expect(tried).toHaveLength(6 * 5 + 5);
});
