/** What a bootstrap waits for, how it goes on, and what it refuses. */
import { waitFor } from '@tidemark/testkit';
import { describe, expect, it } from 'vitest';
import { openTestOutbox } from '../../testing/index.ts';
import { useOlderTables } from '../../testing/older-tables.ts';
import { PATIENT } from '../../testing/patient.ts';
import { attachTable, bootstrapTable, detachTable, listAttached, openPostgresOutbox } from './index.ts';

const older = useOlderTables();

async function untilItWaits(pid: number): Promise<void> {
  await waitFor('the bootstrap waits', async () => {
    const { rowCount } = await older.outbox().client.query(`select where cardinality(pg_blocking_pids($1)) > 0`, [pid]);
    return rowCount === 1;
  });
}

const NUMBERS = { columns: '(id int primary key, n int)', rows: 'select i, 0 from generate_series(1, 10) i' };

describe('waits', () => {
  it.each([
    ['by its row', NUMBERS],
    ['by its key, when that is deferrable', { ...NUMBERS, columns: '(id int primary key deferrable, n int)' }],
  ])('P9: for a writer, %s, who only changes a value; names it, and meanwhile holds nothing else', async (_, given) => {
    const { table, bootstrap } = await older.open(given);
    const holder = await older.connect();
    await holder.query(`set application_name = 'night batch'; begin; update ${table} set n = 1 where id = 5`);
    const waits: string[] = [];
    const stuck = Promise.withResolvers<void>();
    let told = 0n;
    const done = bootstrap({
      rowsMax: 10,
      onStep: ({ rowsTold }) => {
        told = rowsTold;
      },
      onWait: (why) => {
        waits.push(why);
        if (told === 4n) stuck.resolve();
      },
    });
    await Promise.race([stuck.promise, done]);
    expect(waits.at(-1)).toMatch(
      /cannot tell more rows of .*t yet: locked is key '5' by pid \d+ \(night batch, tidemark, transaction open for 00:\d\d:\d\d\)/,
    );
    expect((await older.events()).map(({ key }) => key)).toEqual(['1', '2', '3', '4']);
    const writer = await older.connect();
    await writer.query(`set lock_timeout = '1ms'; update ${table} set n = 2 where id in (4, 6)`);
    await holder.query('commit');
    expect(await done).toMatchObject({ rowsTold: 10n });
    expect((await older.events()).filter(({ key }) => key === '5').map(({ payload }) => payload)).toEqual([
      '{"n": 1, "id": 5}',
      '{"n": 1, "id": 5}',
    ]);
  });

  it.each([
    ['of its table', NUMBERS],
    [
      'of another partition',
      {
        ...NUMBERS,
        columns: `(id int primary key, n int) partition by range (id);
          create table {schema}.low partition of {table} for values from (0) to (100);
          create table {schema}.high partition of {table} default`,
      },
    ],
  ])('P9: for a key that becomes the last one %s, without taking that for its own place', async (_, given) => {
    const { table, pid, bootstrap } = await older.open(given);
    const holder = await older.connect();
    await holder.query(`begin; update ${table} set id = 1000 where id = 2`);
    const done = bootstrap({ rowsMax: 2 });
    await untilItWaits(pid);
    await holder.query('commit');
    await done;
    const told = new Map((await older.events()).map(({ key, payload }) => [Number(key), payload]));
    expect(told.get(2)).toBeNull();
    expect(
      [...told]
        .filter(([, payload]) => payload !== null)
        .map(([key]) => key)
        .sort((x, y) => x - y),
    ).toEqual([1, 3, 4, 5, 6, 7, 8, 9, 10, 1000]);
  });

  it('but gives way when a writer and it wait for each other', async () => {
    const { table, pid, worker, bootstrap } = await older.open(NUMBERS);
    const writer = await older.connect();
    // On a busy machine the server may look for deadlocks before the bootstrap is told that it has waited enough.
    for (const session of [worker, writer]) await session.query(`set deadlock_timeout = '10min'`);
    await writer.query(`begin; update ${table} set n = 1 where id = 9`);
    const done = bootstrap({ rowsMax: 10 });
    await untilItWaits(pid);
    // It holds all rows before.
    await writer.query(`update ${table} set n = 1 where id = 1; commit`);
    expect(await done).toMatchObject({ rowsTold: 10n });
  });

  it('for a prepared transaction no longer than it has patience; later it goes on there', async () => {
    const { table, bootstrap } = await older.open(NUMBERS);
    const { client, namespace } = older.outbox();
    await client.query(`begin; delete from ${table} where id = 8; prepare transaction '${namespace}'`);
    await expect(bootstrap({ rowsMax: 2, patienceMs: 100 })).rejects.toMatchObject({
      code: 'TABLE_BUSY',
      class: 'unavailable',
      message: expect.stringMatching(`locked is key '8' by prepared transaction '${namespace}'`),
    });
    // Slow chunks are made smaller, so the locked row may be the first of one.
    const told = BigInt((await older.events()).length);
    expect([6n, 7n]).toContain(told);
    await client.query(`commit prepared '${namespace}'`);
    const steps: bigint[] = [];
    expect(await bootstrap({ onStep: ({ rowsTold }) => steps.push(rowsTold) })).toMatchObject({ rowsTold: 9n });
    expect(steps).toEqual([told, 9n]);
  });

  it('for the relay, when more rows wait than it may leave', async () => {
    const { table, bootstrap } = await older.open(NUMBERS);
    const { client, namespace, url } = older.outbox();
    const relay = openPostgresOutbox({ url, namespace, relay: 'main', owner: 'test', patience: PATIENT });
    try {
      const waits: string[] = [];
      const told = async (): Promise<number> => (await older.events()).length;
      await expect(
        bootstrap({ rowsMax: 3, backlogRowsMax: 4, patienceMs: 0, onWait: (why) => waits.push(why) }),
      ).rejects.toMatchObject({
        code: 'RELAY_BEHIND',
        message: expect.stringMatching(
          /waits for the relay: 4 rows wait to be published, and nobody publishes; start one: tidemark relay run/,
        ),
      });
      expect(await told()).toBe(4);

      await relay.lease.acquire(600_000);
      await client.query(`update ${table} set n = 1 where id = 10`);
      const publish = async (): Promise<void> => relay.lease.record((await relay.reader.takeSnapshot()).snapshot);
      await publish();
      let publishing: Promise<void> | undefined;
      const done = await bootstrap({
        rowsMax: 3,
        backlogRowsMax: 4,
        onWait: (why) => {
          waits.push(why);
          publishing ??= publish();
        },
      });
      await publishing;
      expect(done).toMatchObject({ rowsTold: 10n, finishedAtMs: expect.any(Number) });
      // It looks again and again until they are published.
      expect([...new Set(waits)]).toEqual([expect.stringMatching(/waits for the relay: 4 rows wait to be published$/)]);
    } finally {
      await relay.close();
      await client.query(`delete from ${older.outbox().schema}.relays`);
    }
  });
});

describe('goes on', () => {
  it('after it was stopped; is done once, and again when it is told to', async () => {
    const { bootstrap } = await older.open(NUMBERS);
    const stop = new AbortController();
    const stopped = await bootstrap({
      rowsMax: 3,
      signal: stop.signal,
      onStep: ({ rowsTold }) => rowsTold > 0n && stop.abort(),
    });
    expect(stopped).toMatchObject({ rowsTold: 3n, finishedAtMs: null });
    expect(await bootstrap()).toMatchObject({ rowsTold: 10n, chunks: 2n });
    expect(await bootstrap()).toMatchObject({ rowsTold: 10n, chunks: 2n });
    expect((await older.events()).map(({ key }) => Number(key))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(await bootstrap({ restart: true })).toMatchObject({ rowsTold: 10n, chunks: 1n });
    expect(await older.events()).toHaveLength(20);
  });

  it('anew, when the table was attached again since: what changed in between was told to nobody', async () => {
    const { table, attach, bootstrap } = await older.open(NUMBERS);
    const { client, namespace } = older.outbox();
    await bootstrap();
    await detachTable(client, { namespace, table });
    expect(await listAttached(client, { namespace })).toEqual([]);
    await expect(bootstrap()).rejects.toMatchObject({
      code: 'NOT_ATTACHED',
      message: expect.stringMatching(/is not attached, .*Attach it first/),
    });
    await client.query(`update ${table} set n = 7 where id = 3`);
    await attach();
    const name = table.replaceAll('"', '');
    const shown = { table: name, topic: 't', keyColumns: ['id'], eventType: name, appendOnly: false };
    expect(await listAttached(client, { namespace })).toMatchObject([{ ...shown, bootstrap: null }]);
    await bootstrap();
    expect(await listAttached(client, { namespace })).toMatchObject([{ ...shown, bootstrap: { rowsTold: 10n } }]);
    expect((await older.events()).filter(({ key }) => key === '3').map(({ payload }) => payload)).toEqual([
      '{"n": 0, "id": 3}',
      '{"n": 7, "id": 3}',
    ]);
    await expect(
      client.query(
        `update ${older.outbox().schema}.bootstraps set finished_at = null, attached_at = now(); select ${older.outbox().schema}.bootstrap_chunk('${table}', 1)`,
      ),
    ).rejects.toMatchObject({
      code: '55000',
      message: expect.stringMatching(/cannot go on: .* was changed since it began/),
    });
  });

  it('while another does the same', async () => {
    const { table, bootstrap } = await older.open({ ...NUMBERS, rows: 'select i, 0 from generate_series(1, 100) i' });
    const { namespace } = older.outbox();
    const second = bootstrapTable(await older.connect(), { namespace, table, rowsMax: 7 });
    await Promise.all([bootstrap({ rowsMax: 5 }), second]);
    expect((await older.events()).map(({ key }) => Number(key))).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
  });

  it('beside a chunk of another that takes long, also when it only begins', async () => {
    const { bootstrap } = await older.open(NUMBERS);
    const stop = new AbortController();
    await bootstrap({ rowsMax: 3, signal: stop.signal, onStep: ({ rowsTold }) => rowsTold > 0n && stop.abort() });
    const other = await older.connect();
    await other.query(`begin; select from ${older.outbox().schema}.bootstraps for update`);
    const waits = Promise.withResolvers<string>();
    const done = bootstrap({ onWait: waits.resolve });
    expect(await Promise.race([waits.promise, done])).toMatch(/lock timeout/);
    await other.query('commit');
    expect(await done).toMatchObject({ rowsTold: 10n, chunks: 2n });
  });

  it('in READ COMMITTED, whatever the role prefers', async () => {
    const { worker, bootstrap } = await older.open(NUMBERS);
    await worker.query(`set default_transaction_isolation = 'serializable'`);
    expect(await bootstrap()).toMatchObject({ rowsTold: 10n });
  });
});

describe('is refused', () => {
  it('for rows that share keys: older ones would stand behind newer ones', async () => {
    const { bootstrap } = await older.open({
      columns: '(room text not null)',
      rows: `values ('a'), ('a')`,
      keyColumns: ['room'],
      appendOnly: true,
    });
    await expect(bootstrap()).rejects.toMatchObject({
      code: 'KEY_UNFIT',
      class: 'config',
      message: expect.stringMatching(
        /share keys, and older ones would stand behind newer ones of their key. Attach it with key_columns that are unique/,
      ),
    });
  });

  it('when the trigger was switched off, or the table is not there', async () => {
    const { table, bootstrap } = await older.open(NUMBERS);
    const { client, namespace } = older.outbox();
    await client.query(`alter table ${table} disable trigger "${namespace}_capture"`);
    await expect(bootstrap()).rejects.toMatchObject({
      code: 'CAPTURE_CHANGED',
      message: expect.stringMatching(/trigger of .*t is missing/),
    });
    await expect(bootstrap({ table: 'nosuch' })).rejects.toMatchObject({ code: 'NO_SUCH_TABLE' });
  });

  it('to an owner of the outbox who may not lock the rows, or sees them through a policy', async () => {
    const { client, namespace, schema, url } = older.outbox();
    const role = `${namespace}_owner`;
    const table = `${schema}.guarded`;
    const own = `${namespace}_own`;
    await client.query(`create role ${role} login password 'x'; grant create on database tidemark to ${role};
      grant usage on schema ${schema} to ${role}; create table ${table} (id int primary key); insert into ${table} values (1);
      grant select, trigger on ${table} to ${role}`);
    const as = new URL(url);
    Object.assign(as, { username: role, password: 'x' });
    const theirs = await openTestOutbox({ url: as.href, namespace: own });
    try {
      await client.query(`alter table ${table} owner to ${role}`);
      await attachTable(theirs.client, { namespace: own, table, topic: 'guarded' });
      await client.query(
        `alter table ${table} owner to tidemark; revoke update on ${table} from ${role}; grant select on ${table} to ${role}`,
      );
      const bootstrap = () => bootstrapTable(theirs.client, { namespace: own, table });
      await expect(bootstrap()).rejects.toMatchObject({
        code: 'NO_PRIVILEGE',
        message: expect.stringMatching(
          `role ${role} may not lock rows of .*guarded. grant update on .*guarded to ${role}`,
        ),
      });
      await client.query(`grant update (id) on ${table} to ${role}; alter table ${table} enable row level security`);
      await expect(bootstrap()).rejects.toMatchObject({
        code: 'NO_PRIVILEGE',
        message: expect.stringMatching(/row-level security policy/),
      });
      await client.query(`alter table ${table} disable row level security`);
      expect(await bootstrap()).toMatchObject({ rowsTold: 1n });
    } finally {
      await client.query(`drop table ${table} cascade`);
      await theirs.drop();
      await client.query(`drop owned by ${role}; drop role ${role}`);
    }
  });
});
