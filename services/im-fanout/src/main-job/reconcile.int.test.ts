/** The judge must be able to convict: each kind of mistake is planted once. */

import type { LogCluster, TopicDescription } from '@tidemark/log';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { createTopic, produce, services, uniqueName, uniqueNamespace } from '@tidemark/testkit';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createTables, dropTables } from '../tables.ts';
import { reconcile } from './reconcile.ts';

const schema = uniqueNamespace('im');
let client: Client;
let cluster: LogCluster;
let topic: TopicDescription;

/** Messages 1, 2 (recalled, so two events) and 3 lie in the window, 4 after it. Offsets 0 to 3, and 4. */
const PUBLISHED = ['1', '2', '3', '2', '4'];

beforeAll(async () => {
  client = new Client(services().postgres);
  await client.connect();
  cluster = createKafkaCluster({ brokers: [services().kafka], clientId: 'reconcile-test' });
  const name = await createTopic(uniqueName('reconcile'));
  await produce(
    name,
    PUBLISHED.map((key, n) => ({ key, value: 'x', headers: { tm_position: String(n + 1) } })),
  );
  const found = await cluster.catalog.describe(name);
  if (found === undefined) throw new Error('the topic is missing');
  topic = found;
});

afterAll(async () => {
  await dropTables(client, schema);
  await client.end();
  await cluster.close();
});

/** Group 1 has member 1 (there), 2 (left) and 3 (muted); everything was done as it should be. */
beforeEach(async () => {
  await dropTables(client, schema);
  await createTables(client, schema);
  await client.query(`
    insert into ${schema}.users select n, 'user ' || n from generate_series(1, 3) n;
    insert into ${schema}.groups values (1, 'everybody');
    insert into ${schema}.members values (1, 1, null, false), (1, 2, now(), false), (1, 3, null, true);
    insert into ${schema}.messages (id, group_id, sender_id, body, recalled_at) values (1, 1, 1, '', null), (2, 1, 1, '', now()), (3, 1, 1, '', null), (4, 1, 1, '', null);
    insert into ${schema}.fanout_requests values ('job', 1), ('job', 2), ('job', 3);
    insert into ${schema}.inbox values (1, 1), (3, 1);
    insert into ${schema}.fanout_skips values ('job', 1, 2, 'left'), ('job', 1, 3, 'muted'), ('job', 2, null, 'recalled'), ('job', 3, 2, 'left'), ('job', 3, 3, 'muted');`);
});

/** What the judge finds wrong. */
async function faults(): Promise<readonly string[]> {
  const window = { partition: 0, start: -1n, end: 3n, logStartOffset: 0n, highWatermark: 4n, clamped: '' };
  const { checks } = await reconcile(cluster, client, {
    schema,
    jobId: 'job',
    topic,
    pin: { pinnedAtMs: 0n, topicId: topic.topicId, partitions: [window], unsentKeys: 0n, unsent: [] },
    planned: {
      messages: 3,
      inboxRows: 2,
      skips: new Set(['1/2/left', '1/3/muted', '2/-/recalled', '3/2/left', '3/3/muted']),
    },
  });
  return checks.filter(({ expected, found }) => BigInt(expected) !== BigInt(found)).map(({ what }) => what);
}

it('finds nothing wrong where nothing is', async () => {
  expect(await faults()).toEqual([]);
});

it.each([
  [
    'a missing row',
    'delete from inbox where message_id = 3',
    ['inbox rows', '… missing', '… of the 3 planned messages'],
  ],
  [
    'a row too many',
    'insert into inbox values (1, 2)',
    ['inbox rows', '… that nobody should have', '… of the 3 planned messages'],
  ],
  [
    'a row for another',
    'update inbox set member_id = 3 where message_id = 3',
    ['… missing', '… that nobody should have'],
  ],
  [
    'a row twice',
    'alter table inbox drop constraint inbox_pkey; insert into inbox values (1, 1)',
    ['inbox rows', '… duplicate', '… of the 3 planned messages'],
  ],
  [
    'a row after the pin',
    'insert into inbox values (4, 1)',
    ['inbox rows', '… that nobody should have', 'rows of the 1 messages after the pin'],
  ],
  [
    'a skip that is missing',
    'delete from fanout_skips where message_id = 2',
    ['skips recorded', '… other than the live state says', '… other than the fixed set says'],
  ],
  [
    'a skip with the wrong reason',
    "update fanout_skips set reason = 'muted' where reason = 'left' and message_id = 1",
    ['… other than the live state says', '… other than the fixed set says'],
  ],
  [
    'a committed message that was not published',
    'insert into messages (id, group_id, sender_id, body) values (5, 1, 1, $$$$)',
    ['committed changes published'],
  ],
  [
    'an event of a transaction that rolled back',
    'delete from messages where id = 4',
    ['committed changes published', '… of transactions that rolled back'],
  ],
  [
    'a message committed before the request, but not covered',
    "insert into fanout_requests values ('job', 4)",
    ['messages committed before the request, covered'],
  ],
])('convicts %s', async (_what, sql, expected) => {
  await client.query(`set search_path = ${schema}`);
  await client.query(sql);
  await client.query('reset search_path');
  expect(await faults()).toEqual(expected);
});
