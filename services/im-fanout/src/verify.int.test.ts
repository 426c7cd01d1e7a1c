import type { ImMessage } from '@tidemark/contracts';
import { checkVerify, contextOf, eventsOf } from '@tidemark/handlers/testing';
import { services, uniqueNamespace } from '@tidemark/testkit';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { fanOut } from './fan-out.ts';
import { createImFanout } from './handler.ts';
import { createTables, dropTables } from './tables.ts';
import { verifyFanOut } from './verify.ts';

const schema = uniqueNamespace('im');
const jobId = contextOf({}).jobId;
const BIG = '9007199254740993';

let client: Client;

beforeAll(async () => {
  client = new Client(services().postgres);
  await client.connect();
});

afterAll(async () => {
  await dropTables(client, schema);
  await client.end();
});

/** Group 1: 1 and 4 are there, 2 has left, 3 is muted. Of its messages 12 is recalled. In group 2 nobody is left. */
beforeEach(async () => {
  await dropTables(client, schema);
  await createTables(client, schema);
  await client.query(`
    insert into ${schema}.users select n, 'user ' || n from generate_series(1, 5) n;
    insert into ${schema}.groups values (1, 'everybody'), (2, 'nobody');
    insert into ${schema}.members values (1, 1, null, false), (1, 2, now(), false), (1, 3, null, true), (1, 4, null, false), (2, 1, now(), false);
    insert into ${schema}.messages (id, group_id, sender_id, body, recalled_at)
      values (10, 1, 1, 'a', null), (${BIG}, 1, 1, 'b', null), (12, 1, 1, 'c', now()), (20, 2, 1, 'd', null);`);
});

const events = (...ids: readonly (bigint | null)[]) =>
  eventsOf<ImMessage | null>(
    ids.map((id) =>
      id === null ? null : { id, group_id: 1n, sender_id: 1n, body: '', posted_at: '', recalled_at: null },
    ),
  );

const handle = (...messageIds: readonly string[]) =>
  fanOut(client, { schema, jobId, rangeId: 'range', token: '1', messageIds, offsets: messageIds });

const verdicts = async (...messageIds: readonly (string | null)[]): Promise<readonly string[]> =>
  (await verifyFanOut(client, { schema, jobId, messageIds })).map((verdict) =>
    verdict.kind === 'none due' ? `none due: ${verdict.reason}` : verdict.kind,
  );

it('knows its effects from their absence, tombstones and messages that are gone among them', async () => {
  await checkVerify(createImFanout({ postgresUrl: services().postgres, schema }), {
    events: events(10n, 12n, null, 404n, 20n, BigInt(BIG)),
    reset: () =>
      client.query(
        `delete from ${schema}.inbox; delete from ${schema}.fanout_skips; delete from ${schema}.fanout_tokens`,
      ),
  });
});

it('tells skips from losses, in the order of the records, each as often as it is asked for', async () => {
  expect(await verdicts('10', '12')).toEqual(['missing', 'missing']);
  await handle('10', '12', '404', '20');
  expect(await verdicts('12', '10', null, '404', '20', '10', BIG)).toEqual([
    ...['none due: recalled', 'present', 'none due: deleted', 'none due: deleted', 'present', 'present', 'missing'],
  ]);
  expect(await verifyFanOut(client, { schema, jobId: 'another', messageIds: ['12'] })).toEqual([{ kind: 'missing' }]);
  expect(await verdicts()).toEqual([]);
});

it('finds a single row that is not there', async () => {
  await handle('10', BIG);
  await client.query(`delete from ${schema}.inbox where message_id = ${BIG} and member_id = 4`);
  expect(await verdicts('10', BIG)).toEqual(['present', 'missing']);
});

it('is not misled by what changed after the job', async () => {
  await handle('10', BIG, '20');
  await client.query(`
    update ${schema}.members set left_at = now(), muted = true where member_id = 1;
    update ${schema}.members set left_at = null, muted = false where member_id in (2, 3);
    insert into ${schema}.members (group_id, member_id) values (1, 5), (2, 5);
    update ${schema}.messages set recalled_at = now() where id = 10;
    delete from ${schema}.messages where id = ${BIG}`);
  expect(await verdicts('10', BIG, '20')).toEqual(['present', 'present', 'present']);
  await handle('10'); // the record of its recall
  expect(await verdicts('10', '10')).toEqual(['present', 'present']);
  await client.query(`delete from ${schema}.inbox where message_id = ${BIG}`);
  expect(await verdicts(BIG)).toEqual(['missing']);
});
