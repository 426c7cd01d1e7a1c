import { codeOf } from '@tidemark/keyspace';
import { silentLogger } from '@tidemark/observability';
import { checkIdentity, startPosition } from '@tidemark/outbox';
import { openPostgresOutbox, publish } from '@tidemark/outbox/postgres';
import { type PrivatePostgres, privatePostgres, tcpProxy, waitFor } from '@tidemark/testkit';
import { Client } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { byText, keysIn, openRelayTest } from './testing/harness.ts';
import { startStandby } from './testing/standby.ts';

/** Nothing is flushed but by who asks for it. */
const LAZY = { synchronous_commit: 'off', wal_writer_delay: '10s' };

async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<PrivatePostgres> {
  const postgres = await privatePostgres({ settings });
  onTestFinished(() => postgres.stop());
  return postgres;
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.end().catch(() => {}));
  return client;
}

it('G13: transaction ids that a crash hands out again are not taken for published ones', {
  timeout: 600_000,
}, async () => {
  const postgres = await startPostgres(LAZY);
  const test = await openRelayTest({ postgres: postgres.address });
  const { namespace, topic } = test;
  // The installation itself must outlive the first crash.
  await test.outbox.client.query('checkpoint');
  // So long a lease is not renewed in this test: its commit would flush what the guard has to flush.
  const relay = await test.startRelay({ leaseTtlMs: 1_800_000 });
  const published: string[] = [];
  for (let round = 1; round <= 6; round += 1) {
    const client = await connect(postgres.address);
    await publish(client, { namespace, topic, key: `before-${round}`, type: 'x', payload: '{}' });
    for (let i = 0; i < 20; i += 1) await client.query('begin; select pg_current_xact_id(); rollback');
    await publish(client, { namespace, topic, key: `last-${round}`, type: 'x', payload: '{}' });
    published.push(`before-${round}`, `last-${round}`);
    await waitFor(`round ${round} is stored`, () => relay.rowsPublished >= published.length, { intervalMs: 1 });
    await postgres.stopImmediate();
    await postgres.start();
    const after = await connect(postgres.address);
    await publish(after, { namespace, topic, key: `after-${round}`, type: 'x', payload: '{}' });
    published.push(`after-${round}`);
    await waitFor(`the row after crash ${round}`, () => relay.rowsPublished >= published.length);
  }
  const keys = (await test.readAll(topic)).map((record) => record.key?.toString());
  expect(keys.sort(byText)).toEqual(published.sort(byText));
});

it('G12, G13: a hot standby is refused while a transaction is open on the primary, and a running relay goes on after its promotion', {
  timeout: 600_000,
}, async () => {
  const primary = await startPostgres();
  const test = await openRelayTest({ postgres: primary.address });
  const { namespace, topic } = test;
  const before = openPostgresOutbox({ url: primary.address, namespace, relay: 'main', owner: 'test' });
  onTestFinished(() => before.close());
  const position = startPosition((await before.reader.state()).identity);
  const address = new URL(primary.address);
  const proxy = await tcpProxy({ target: { host: address.hostname, port: Number(address.port) } });
  onTestFinished(() => proxy.close());
  address.port = String(proxy.port);
  const seen: unknown[] = [];
  const warn = (fields: object | string) => {
    if (typeof fields === 'object' && 'error' in fields) seen.push(codeOf(fields.error));
  };
  const logger = { ...silentLogger, warn };
  const relay = await test.startRelay({ postgres: address.toString(), logger });
  const event = { namespace, topic, type: 'x', payload: '{}' };
  await publish(test.outbox.client, { ...event, key: 'before' });
  await waitFor('a row of the primary', () => relay.rowsPublished === 1);
  const holder = await connect(primary.address);
  await holder.query('begin');
  await publish(holder, { namespace, topic, key: 'open', type: 'x', payload: '{}' });

  const standbyUrl = await startStandby(primary);
  const onStandby = openPostgresOutbox({ url: standbyUrl, namespace, relay: 'main', owner: 'test' });
  onTestFinished(() => onStandby.close());
  const refusal = {
    code: 'STANDBY',
    class: 'config',
    message: expect.stringMatching(/is a standby.*Point the relay at the primary/),
  };
  await expect(onStandby.reader.state()).rejects.toMatchObject(refusal);
  await expect(onStandby.reader.takeSnapshot()).rejects.toMatchObject(refusal);

  const standby = await connect(standbyUrl);
  const { walInsertLsn, snapshot } = await before.reader.takeSnapshot();
  await waitFor('the standby has caught up', async () => {
    const { rows } = await standby.query<{ done: boolean }>('select pg_last_wal_replay_lsn() >= $1::pg_lsn as done', [
      walInsertLsn,
    ]);
    return rows[0]?.done === true;
  });
  // The address has moved before the promotion is over.
  proxy.lead({ host: address.hostname, port: Number(new URL(standbyUrl).port) });
  for (const wire of proxy.wires) wire.cut();
  await waitFor('the relay meets the standby', () => seen.includes('STANDBY') || seen.includes('POSTGRES_READ_ONLY'));
  await standby.query('select pg_promote(true, 180)');
  const now = await waitFor('the promoted server answers', () => onStandby.reader.state());
  expect(checkIdentity({ ...position, snapshot, walInsertLsn }, now)).toEqual({ kind: 'promoted', from: 1, to: 2 });
  // What was published beyond the fork is not there any more.
  expect(
    checkIdentity({ ...position, snapshot, walInsertLsn: 'FF/0' }, { ...now, walInsertLsn: 'FF/1' }),
  ).toMatchObject({
    kind: 'foreign',
    reason: expect.stringMatching(/what followed was lost/),
  });
  await publish(standby, { ...event, key: 'after' });
  await waitFor('a row of the promoted server', () => relay.rowsPublished === 2);
  expect(await keysIn(test, topic)).toEqual(['after', 'before']);
});
