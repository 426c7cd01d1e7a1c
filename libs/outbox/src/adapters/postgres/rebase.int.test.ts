import { services, uniqueNamespace, waitFor } from '@tidemark/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { isInWindow } from '../../snapshot.ts';
import { openTestOutbox, type TestOutbox } from '../../testing/index.ts';
import { PATIENT } from '../../testing/patient.ts';
import { openPostgresOutbox, openRebaseStore, publish } from './index.ts';

async function openTest() {
  const url = services().postgres;
  const outbox = await openTestOutbox({ url, namespace: uniqueNamespace('rebase') });
  onTestFinished(() => outbox.drop());
  const where = { url, namespace: outbox.namespace, relay: 'main', owner: 'test' };
  const store = openRebaseStore(where);
  const { reader, lease, close } = openPostgresOutbox({ ...where, patience: PATIENT });
  onTestFinished(async () => void (await Promise.all([store.close(), close()])));
  return { outbox, store, reader, lease };
}

function write({ client, namespace }: TestOutbox, key: string, by = client): Promise<bigint> {
  return publish(by, { namespace, topic: 't', key, type: 'x', payload: '{}' });
}

async function txids({ client, schema }: TestOutbox): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await client.query<{ key: string; txid: string }>(
    `select key, txid::text as txid from ${schema}.outbox order by position`,
  );
  return new Map(rows.map(({ key, txid }) => [key, BigInt(txid)]));
}

it('G16, P9: rows of any transaction id fall into the window behind the snapshot, with those that writers commit meanwhile', async () => {
  const { outbox, store, reader, lease } = await openTest();
  const { client, schema } = outbox;
  await lease.acquire(10_000);
  const published = await write(outbox, 'published');
  await write(outbox, 'low');
  await write(outbox, 'high');
  // As a dump brings them: ids of another cluster, long ended here, or not begun.
  await client.query(`update ${schema}.outbox set txid = '3' where key = 'low'`);
  await client.query(`update ${schema}.outbox set txid = '900000000000' where key = 'high'`);
  expect((await reader.state()).hasRowsFromTheFuture).toBe(true);
  // It is held in the middle, while others take later ids than it has, and commit.
  await client.query(`
    create function ${schema}.gate() returns trigger language plpgsql
      as $$ begin perform pg_advisory_xact_lock_shared(hashtext('${outbox.namespace}')); return new; end $$;
    create trigger gate before update on ${schema}.outbox for each row execute function ${schema}.gate();
    select pg_advisory_lock(hashtext('${outbox.namespace}'))`);
  const open = await outbox.connect();
  await open.query('begin');
  await write(outbox, 'open', open);
  const settling = store.settle([published]);
  await waitFor('the rebase at the gate', async () => {
    const { rowCount } = await client.query(
      `select from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'`,
      [`${outbox.namespace}.relay.main rebase`],
    );
    return rowCount === 1;
  });
  await write(outbox, 'meanwhile');
  await client.query(`select pg_advisory_unlock(hashtext('${outbox.namespace}'))`);
  const { snapshot } = await settling;
  await open.query('commit');

  expect(await store.witness()).toEqual(snapshot);
  const now = await reader.takeSnapshot();
  const rows = await txids(outbox);
  expect([...rows.keys()]).toEqual(['low', 'high', 'open', 'meanwhile']);
  for (const [key, txid] of rows) expect(isInWindow({ after: snapshot, upTo: now.snapshot }, txid), key).toBe(true);
  const page = await reader.readPage({ after: snapshot, upTo: now.snapshot }, 0n, { rowsMax: 10, bytesMax: 10_000 });
  expect(page.rows.map(({ key }) => key)).toEqual(['low', 'high', 'open', 'meanwhile']);
});

it('changes nothing without the lease', async () => {
  const { outbox, store } = await openTest();
  const position = await write(outbox, 'a');
  const before = await txids(outbox);
  await expect(store.settle([position])).rejects.toMatchObject({ code: 'LEASE_LOST', class: 'fenced' });
  expect(await txids(outbox)).toEqual(before);
});
