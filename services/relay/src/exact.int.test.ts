/** Up to the bytes in the topic: what stands in the outbox is what arrives, whatever it is made of. */
import { headerText } from '@tidemark/log';
import { publish } from '@tidemark/outbox/postgres';
import { createTableOfEveryType } from '@tidemark/outbox/testing';
import { waitFor } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { jsonOf, openRelayTest } from './testing/harness.ts';
import type { SentRecord } from './testing/read-topic.ts';

interface Expected {
  readonly position: string;
  readonly topic: string;
  readonly key: string;
  readonly type: string;
  readonly payload: string | null;
  readonly table: string | null;
}

/** Every character but the one that no text holds, and some that only some programs break on. */
const ODD_KEYS = Array.from({ length: 0x100 }, (_, code) => String.fromCharCode(code + 1)).concat(
  ['', ' ', '\u2028', '\ufeff', '\uffff', '\u{10ffff}', 'é'.normalize('NFD'), 'null', '"', '\\u0000', '[1, "a"]'],
  'x'.repeat(10_000),
);

const ODD_PAYLOADS = [
  '9007199254740993',
  '-0.10e+2',
  `1${'0'.repeat(400)}.${'0'.repeat(400)}1`,
  '"\\u0001\\u001f\\u2028\\ud83d\\ude00 \\\\ \\" \u007f é"',
  '{"b": 1.10, "a": {"": [], "__proto__": {}, "constructor": null}}',
  '[]',
  'false',
  '""',
];

it('P9, G8, G10: every type of the database, every character of a key, and odd JSON arrive byte by byte, once', async () => {
  const test = await openRelayTest();
  const { outbox, namespace, codec } = test;
  const { client, schema } = outbox;
  const published = await test.createTopic();
  const odd = 'Ev"en\n\\t\'%s$1';
  await createTableOfEveryType(client, `${schema}.source`);
  await client.query(`create table ${schema}."T ""x""" (like ${schema}.source including all)`);
  await client.query(`select ${schema}.attach('${schema}."T ""x"""', '${test.topic}')`);
  await client.query(`set datestyle = 'SQL, DMY'; set timezone = 'Asia/Kathmandu'; set extra_float_digits = -15;
    insert into ${schema}."T ""x""" select * from ${schema}.source; delete from ${schema}."T ""x""" where id = 2`);
  await client.query('begin');
  for (const [n, key] of ODD_KEYS.entries()) {
    const payload = ODD_PAYLOADS[n % ODD_PAYLOADS.length] ?? null;
    await publish(client, { namespace, topic: published, key, type: odd, payload, headers: { [odd]: key } });
  }
  await publish(client, {
    namespace,
    topic: published,
    key: 'gone',
    type: 'x',
    payload: null,
    headers: { none: null },
  });
  await client.query('commit');
  const { rows: expected } =
    await client.query<Expected>(`select position::text as position, topic, key, type, payload::text as payload,
    headers ->> 'tm_table' as table from ${schema}.outbox order by outbox.position`);

  const relay = await test.startRelay();
  await waitFor('all of them', () => relay.rowsPublished >= expected.length);
  const sent = [...(await test.readAll(test.topic)), ...(await test.readAll(published))];
  const found = await Promise.all(sent.map((record) => told(record)));
  expect(found.sort((a, b) => Number(a.position) - Number(b.position))).toEqual(
    expected.map(({ topic: _, ...row }) => row),
  );
  for (const record of sent.filter((one) => headerText(one, 'tm_table') === undefined && one.value !== null))
    expect(headerText(record, odd)).toBe(record.key?.toString('utf8'));

  async function told(record: SentRecord): Promise<Omit<Expected, 'topic'>> {
    return {
      position: String(record.position),
      key: record.key?.toString('utf8') ?? 'no key',
      type: headerText(record, 'ce_type') ?? 'no type',
      payload: record.value === null ? null : await jsonOf(codec, record),
      table: headerText(record, 'tm_table') ?? null,
    };
  }
});
