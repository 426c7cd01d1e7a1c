import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publish } from '@tidemark/outbox/postgres';
import { type PrivatePostgres, privatePostgres, services, waitFor } from '@tidemark/testkit';
import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { limitRecords, openRelayTest, type RelayTest } from './testing/harness.ts';
import {
  committedIds,
  connect,
  failureOf,
  keepRows,
  letGo,
  publishedIds,
  rebaseOf,
  relayOn,
  witnessed,
} from './testing/rebase-bench.ts';
import { runPostgresProgram, startStandby } from './testing/standby.ts';

/** Another cluster than the stack's: younger, with lower transaction ids. */
let other: PrivatePostgres;
beforeAll(async () => {
  other = await privatePostgres();
});
afterAll(() => other.stop());

/** Writes one row a key, each in a transaction of its own; returns their ids. */
async function write(client: Client, test: RelayTest, keys: readonly string[], topic = test.topic): Promise<string[]> {
  const ids: string[] = [];
  for (const key of keys) {
    const position = await publish(client, { namespace: test.namespace, topic, key, type: 'x', payload: '{}' });
    const { rows } = await client.query<{ id: string }>(
      `select id::text as id from "${test.namespace}".outbox where position = $1`,
      [position],
    );
    ids.push(rows[0]?.id ?? '');
  }
  return ids;
}

/** Every row of the database once, per key in order; beside them only what the database does not know. */
async function expectExact(
  test: RelayTest,
  topics: readonly string[],
  { truth, extra }: { readonly truth: ReadonlyMap<string, readonly string[]>; readonly extra: readonly string[] },
): Promise<void> {
  const published = await publishedIds(test, topics);
  for (const [key, ids] of published)
    expect(
      ids.filter((id) => !extra.includes(id)),
      key,
    ).toEqual(truth.get(key) ?? []);
  expect([...published.values()].flat()).toHaveLength([...truth.values()].flat().length + extra.length);
}

it('G16, P9: a dump restored into another cluster: what is published is skipped, what is not is sent, what is missing is told', async () => {
  const test = await openRelayTest();
  const { outbox, namespace, topic } = test;
  const small = await test.createTopic();
  await limitRecords(small, 1_000);
  const keys = Array.from({ length: 40 }, (_, i) => `k${i % 7}`);
  await keepRows(outbox.client, namespace);
  const relay = await test.startRelay();
  await write(outbox.client, test, keys);
  await publish(outbox.client, {
    ...{ namespace, topic: small, key: 'big', type: 'x' },
    payload: JSON.stringify('x'.repeat(2_000)),
  });
  await waitFor('the first rows', () => relay.rowsPublished === 40);
  await witnessed(outbox.client, namespace);
  await relay.stop('test');
  // Of these the dump says nothing: they are published after it.
  await write(outbox.client, test, ['k1', 'late']);
  const dump = await dumpOf(namespace);
  const before = await test.startRelay();
  const extra = await write(outbox.client, test, ['k1', 'k2', 'lost']);
  await waitFor('what the dump does not have', () => before.rowsPublished === 5);
  await before.stop('test');

  const restored = await restore(dump);
  await write(restored, test, ['k1', 'new']);
  await write(restored, test, ['big'], small);
  const openRelay = relayOn(test, other.address);
  expect(await failureOf(await openRelay())).toMatchObject({ code: 'FOREIGN_DATABASE' });
  const rebase = rebaseOf(test, other.address);
  const expected = {
    fit: { kind: 'foreign' },
    topics: expect.arrayContaining([
      { topic, published: 42, superseded: 0, unpublished: 2, unknown: 0, isWhole: true },
      { topic: small, published: 0, superseded: 0, unpublished: 2, unknown: 0, isWhole: true },
    ]),
    extra: { count: 3 },
  };
  const report = await rebase.inspect();
  expect(report).toMatchObject(expected);
  expect(report.extra?.listed.map(({ id }) => id).sort()).toEqual(extra.toSorted());
  await limitRecords(small, 10_000);
  await letGo(restored, namespace);
  // A writer goes on meanwhile.
  const writer = await connect(other.address);
  await writer.query('begin');
  await write(writer, test, ['k3', 'open']);
  const truth = await committedIds(writer, namespace);
  expect(await rebase.apply()).toMatchObject({ ...expected, applied: true });
  await writer.query('commit');
  const after = await openRelay();
  await waitFor('what was not published', () => after.rowsPublished === 6);
  await expectExact(test, [topic, small], { truth, extra });
});

async function dumpOf(namespace: string): Promise<string> {
  const url = new URL(services().postgres);
  return runPostgresProgram('pg_dump', [`--schema=${namespace}`, '--no-owner', `--dbname=${url}`], '/');
}

async function restore(dump: string): Promise<Client> {
  const file = join(other.folder, 'server', 'dump.sql');
  writeFileSync(file, dump);
  await runPostgresProgram('psql', ['-q', '-v', 'ON_ERROR_STOP=1', `--dbname=${other.address}`, '-f', file], '/');
  return connect(other.address);
}

it('G16, P9: a promoted standby that lost commits: they are told, and its own rows are sent once', async () => {
  const test = await openRelayTest({ postgres: other.address });
  const { outbox, namespace, topic } = test;
  await keepRows(outbox.client, namespace);
  const relay = await test.startRelay();
  await write(outbox.client, test, ['a', 'b', 'a', 'c']);
  await waitFor('the first rows', () => relay.rowsPublished === 4);
  await witnessed(outbox.client, namespace);
  const url = await startStandby(other);
  const standby = await connect(url);
  await cutOff(standby, outbox.client);
  const extra = await write(outbox.client, test, ['a', 'b', 'lost', 'lost']);
  await waitFor('what the standby has not got', () => relay.rowsPublished === 8);

  await standby.query('select pg_promote(true, 180)');
  // They take the positions and the transaction ids of those that were lost.
  await write(standby, test, ['a', 'b', 'new', 'c']);
  const rebase = rebaseOf(test, url);
  const openRelay = relayOn(test, url);
  // The old primary still runs, and so does its relay. Whoever comes later takes the other's place.
  expect(await failureOf(await openRelay())).toMatchObject({
    code: 'FOREIGN_DATABASE',
    message: expect.stringMatching(/what followed was lost|restored to an older state/),
  });
  const report = await rebase.inspect({ force: true });
  expect(report).toMatchObject({
    fit: { kind: 'foreign' },
    topics: [{ topic, published: 4, unpublished: 4, unknown: 0 }],
    extra: { count: 4 },
  });
  expect(report.extra?.listed.map(({ id }) => id).sort()).toEqual(extra.toSorted());
  const truth = await committedIds(standby, namespace);
  await letGo(standby, namespace);
  expect(await rebase.apply({ force: true })).toMatchObject({ applied: true, extra: { count: 4 } });
  // It is fenced, and finds a position of another history.
  await write(outbox.client, test, ['a']);
  expect(await failureOf(relay)).toMatchObject({ code: 'FOREIGN_DATABASE' });
  const after = await openRelay();
  await waitFor('the rows of the new primary', () => after.rowsPublished === 4);
  await expectExact(test, [topic], { truth, extra });
});

/** The standby has everything of now, and gets nothing more. */
async function cutOff(standby: Client, primary: Client): Promise<void> {
  const { rows } = await primary.query<{ lsn: string }>('select pg_current_wal_insert_lsn()::text as lsn');
  await waitFor('the standby to catch up', async () => {
    const answer = await standby.query<{ done: boolean }>('select pg_last_wal_replay_lsn() >= $1::pg_lsn as done', [
      rows[0]?.lsn,
    ]);
    return answer.rows[0]?.done === true;
  });
  await standby.query("alter system set primary_conninfo = ''");
  await standby.query('select pg_reload_conf()');
  await waitFor('the standby to be cut off', async () => {
    const answer = await standby.query('select from pg_stat_wal_receiver');
    return answer.rowCount === 0;
  });
}
