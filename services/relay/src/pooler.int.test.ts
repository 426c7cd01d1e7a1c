/** A pooler between the database and its clients: right for applications, and refused by the relay, which needs a session. */
import { attachTable, publish } from '@tidemark/outbox/postgres';
import { runRandomWriters } from '@tidemark/outbox/testing';
import { type PrivatePgbouncer, privatePgbouncer, services, waitFor } from '@tidemark/testkit';
import { Client } from 'pg';
import { expect, it, onTestFinished, type TestContext } from 'vitest';
import { countedUp, keysIn, numbersByKey, openRelayTest } from './testing/harness.ts';

async function openPooler(
  { skip }: TestContext,
  settings: Readonly<Record<string, string>> = {},
): Promise<PrivatePgbouncer> {
  const pooler = await privatePgbouncer({ postgres: services().postgres, settings });
  if (pooler === undefined) return skip('pgbouncer is not installed, and apt-get is not ours to use');
  onTestFinished(() => pooler.stop());
  return pooler;
}

/** Whatever a client of Postgres asks for at its start. */
const LENIENT = {
  ignore_startup_parameters: 'extra_float_digits,options,statement_timeout,idle_in_transaction_session_timeout',
};

it('a pooler in transaction mode is refused at start, whatever it knows of startup parameters', async (context) => {
  const test = await openRelayTest();
  const refusal = {
    code: 'POOLED_CONNECTION',
    class: 'config',
    message: expect.stringMatching(
      /^Postgres at 127\.0\.0\.1:\d+\/tidemark: .*TIDEMARK_POSTGRES to the address of the/,
    ),
  };
  const strict = await openPooler(context);
  await expect(test.startRelay({ postgres: strict.address })).rejects.toMatchObject(refusal);
  // With one session of the server for all, each client gets the same one by luck.
  const poolers = await Promise.all(
    ['1', '5'].map((size) => openPooler(context, { ...LENIENT, default_pool_size: size })),
  );
  await Promise.all(
    poolers.map(({ address }) => expect(test.startRelay({ postgres: address })).rejects.toMatchObject(refusal)),
  );
  for (const { address } of poolers) {
    // Nothing that the relay sets is left to the applications.
    const client = new Client({ connectionString: address });
    await client.connect();
    onTestFinished(() => client.end());
    expect((await client.query('show search_path')).rows).toEqual([{ search_path: '"$user", public' }]);
  }
});

it('a pooler in session mode is taken, and one hint is enough to wake the relay', async (context) => {
  const test = await openRelayTest();
  const { namespace, topic, outbox } = test;
  const pooler = await openPooler(context, { ...LENIENT, pool_mode: 'session' });
  const pollMs = 60_000;
  let isAsleep = false;
  const relay = await test.startRelay({
    postgres: pooler.address,
    pollMs,
    onWait: (ms) => (isAsleep ||= ms === pollMs),
  });
  await waitFor('the relay sleeps', () => isAsleep);
  await publish(outbox.client, { namespace, topic, key: 'k', type: 'x', payload: '{}' });
  await waitFor('the row', () => relay.rowsPublished === 1);
});

it('G1, P9: applications write through a pooler in transaction mode: each row once, per key in order', async (context) => {
  const test = await openRelayTest();
  const { namespace, topic, outbox, codec } = test;
  const pooler = await openPooler(context, { default_pool_size: '4' });
  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: pooler.address });
    await client.connect();
    onTestFinished(() => client.end());
    return client;
  };
  const table = `${outbox.schema}.items`;
  const captured = await test.createTopic();
  await outbox.client.query(`create table ${table} (id int primary key, n int not null)`);
  await attachTable(outbox.client, { namespace, table, topic: captured });
  const relay = await test.startRelay();
  const clients = await Promise.all([1, 2, 3, 4, 5, 6].map(connect));
  const upserts = clients.map(async (client, id) => {
    for (let n = 1; n <= 10; n += 1) {
      await client.query(`insert into ${table} values ($1, $2) on conflict (id) do update set n = excluded.n`, [id, n]);
    }
  });
  const counts = await runRandomWriters(
    { ...outbox, connect },
    { topic, writers: 12, transactionsEach: 15, keys: 10, pauseMsMax: 2, rollbackShare: 0.2, random: Math.random },
  );
  await Promise.all(upserts);
  const committed = [...counts.values()].reduce((sum, last) => sum + last, 60);
  await waitFor(`${committed} rows`, () => relay.rowsPublished >= committed);
  expect(await numbersByKey(codec, await test.readAll(topic))).toEqual(countedUp(counts));
  expect(await numbersByKey(codec, await test.readAll(captured))).toEqual(
    countedUp(new Map(clients.map((_, id) => [`${id}`, 10]))),
  );
  expect(await keysIn(test, captured)).toHaveLength(60);
});
