import { readRecord, SchemaName } from '@tidemark/contracts';
import { partitionOfKey, sleep } from '@tidemark/keyspace';
import { headerText } from '@tidemark/log';
import { positionTopicOf } from '@tidemark/outbox';
import { attachTable, publish, requestJob } from '@tidemark/outbox/postgres';
import { runRandomWriters } from '@tidemark/outbox/testing';
import { waitFor } from '@tidemark/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HOUSEKEEPING_MS } from './limits.ts';
import { RelayState } from './relay.ts';
import { countedUp, jsonOf, keysIn, numbersByKey, openRelayTest } from './testing/harness.ts';

describe('what arrives', () => {
  it('G8: key, exact value, tombstone and headers of a row, on the partition that Java would choose', async () => {
    const test = await openRelayTest();
    const { namespace, topic, outbox, codec } = test;
    const { client } = outbox;
    const payload = '{"id":9007199254740993,"amt":1.10}';
    const first = await publish(client, {
      namespace,
      topic,
      key: 'käse',
      type: 'sold',
      payload,
      headers: { trace: 'abc', none: null },
    });
    const second = await publish(client, { namespace, topic, key: 'käse', type: 'gone', payload: null });
    const relay = await test.startRelay();
    await waitFor('both rows', () => relay.rowsPublished === 2);
    const [sale, tombstone] = await test.readAll(topic);
    if (sale === undefined || tombstone === undefined) throw new Error('two records were published');
    expect(sale.key?.toString()).toBe('käse');
    expect(sale.partition).toBe(partitionOfKey(Buffer.from('käse'), 3));
    expect(await jsonOf(codec, sale)).toBe('{"id": 9007199254740993, "amt": 1.10}');
    expect([sale.position, tombstone.position]).toEqual([first, second]);
    expect(tombstone.value).toBeNull();
    const { rows } = await client.query<{ id: string; at: string }>(
      `select id::text, to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at from ${outbox.schema}.outbox where position = $1`,
      [first],
    );
    // Clean-up may have been faster; the header is then only checked for its form.
    if (rows[0] !== undefined)
      expect([headerText(sale, 'ce_id'), headerText(sale, 'ce_time')]).toEqual([rows[0].id, rows[0].at]);
    expect(headerText(sale, 'ce_time')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(headerText(sale, 'ce_type')).toBe('sold');
    expect(headerText(sale, 'ce_source')).toBe(`/tidemark/${namespace}/outbox`);
    expect(headerText(sale, 'ce_specversion')).toBe('1.0');
    expect(headerText(sale, 'trace')).toBe('abc');
    expect(sale.headers.find(([name]) => name === 'none')).toEqual(['none', null]);
  });

  it('a row that is woken up by NOTIFY does not wait for the poll', async () => {
    const test = await openRelayTest();
    const { namespace, topic, outbox } = test;
    const pollMs = 60_000;
    let waits = 0;
    const relay = await test.startRelay({ pollMs, onWait: (ms) => (waits += ms === pollMs ? 1 : 0) });
    let waitsBefore = 0;
    for (let n = 1; n <= 3; n += 1) {
      await waitFor('the relay waits for a hint', () => waits > waitsBefore);
      waitsBefore = waits;
      await publish(outbox.client, { namespace, topic, key: 'k', type: 'x', payload: `${n}` });
      await waitFor('the row, well before the poll', () => relay.rowsPublished === n);
    }
  });

  it('published rows are removed, once nobody in the whole cluster is older than they are', async () => {
    const test = await openRelayTest();
    const { namespace, topic, outbox } = test;
    const event = { namespace, topic, key: 'k', type: 'x', payload: '{}' };
    const first = await publish(outbox.client, event);
    await test.startRelay();
    // Transactions of other tests keep it for a while, so that only a later window finds them gone.
    await waitFor(
      'the row to be removed',
      async () => {
        await publish(outbox.client, event);
        return (
          (await outbox.client.query(`select from ${outbox.schema}.outbox where position = $1`, [first])).rows
            .length === 0
        );
      },
      { timeoutMs: 60_000, intervalMs: 200 },
    );
  });

  it('a captured table arrives with its name', async () => {
    const test = await openRelayTest();
    const { namespace, topic, outbox, codec } = test;
    const table = `${outbox.schema}."Order-Lines"`;
    await outbox.client.query(`create table ${table} (id bigint primary key, note text)`);
    await attachTable(outbox.client, { namespace, table, topic });
    await outbox.client.query(`insert into ${table} values (9223372036854775807, 'x')`);
    const relay = await test.startRelay();
    await waitFor('the row', () => relay.rowsPublished === 1);
    const [record] = await test.readAll(topic);
    if (record === undefined) throw new Error('one record was published');
    expect(record.key?.toString()).toBe('9223372036854775807');
    expect(await jsonOf(codec, record)).toBe('{"id": 9223372036854775807, "note": "x"}');
    expect(headerText(record, 'ce_type')).toBe(`${namespace}.Order-Lines`);
    expect(headerText(record, 'tm_table')).toContain('"Order-Lines"');
  });
});

it('P9: a captured writer that does without hints can be prepared, and arrives once when it is committed', async () => {
  const test = await openRelayTest();
  const { namespace, topic, outbox } = test;
  const table = `${outbox.schema}.t`;
  await outbox.client.query(`create table ${table} (id int primary key)`);
  await attachTable(outbox.client, { namespace, table, topic });
  const pollMs = 500;
  let isAsleep = false;
  const relay = await test.startRelay({ pollMs, onWait: (ms) => (isAsleep ||= ms === pollMs) });
  await waitFor('the relay sleeps', () => isAsleep);
  const writer = await outbox.connect();
  // It holds locks beyond its session, so a failing test must not leave it.
  onTestFinished(async () => {
    await outbox.client.query(`rollback prepared '${namespace}'`).catch(() => {});
  });
  await writer.query(`begin; insert into ${table} values (1)`);
  await expect(writer.query(`prepare transaction '${namespace}'`)).rejects.toThrow(
    'cannot PREPARE a transaction that has executed LISTEN, UNLISTEN, or NOTIFY',
  );
  await writer.query(`set tidemark.hints = off; begin; insert into ${table} values (2)`);
  await writer.query(`prepare transaction '${namespace}'`);
  await publish(outbox.client, { namespace, topic: await test.createTopic(), key: 'k', type: 'x', payload: '{}' });
  await waitFor('a later row', () => relay.rowsPublished === 1);
  expect(await keysIn(test, topic)).toEqual([]);
  await writer.query(`commit prepared '${namespace}'`);
  await waitFor('the prepared row', () => relay.rowsPublished === 2);
  expect(await keysIn(test, topic)).toEqual(['2']);
});

describe('G1', () => {
  it('G1: a lower position that commits later, and one that is rolled back', async () => {
    const test = await openRelayTest();
    const { namespace, topic, outbox } = test;
    const relay = await test.startRelay();
    const [s1, s2, s3] = [await outbox.connect(), await outbox.connect(), await outbox.connect()];
    const event = (key: string) => ({ namespace, topic, key, type: 'x', payload: '{}' });
    await s1.query('begin');
    await publish(s1, event('one'));
    await publish(s2, event('two'));
    await s3.query('begin');
    await publish(s3, event('three'));
    await s3.query('rollback');
    await publish(s2, event('four'));
    await waitFor('what is visible', () => relay.rowsPublished === 2);
    // A later window on top, so that the relay had its chance to step over what is not visible yet.
    await publish(s2, event('five'));
    await waitFor('a later row', () => relay.rowsPublished === 3);
    expect(await keysIn(test, topic)).toEqual(['five', 'four', 'two']);
    await s1.query('commit');
    await waitFor('the first row', () => relay.rowsPublished === 4);
    expect(await keysIn(test, topic)).toEqual(['five', 'four', 'one', 'two']);
  });

  // Some 40,000 statements: a busy machine takes minutes for them.
  it('G1, P9: 20 writers with random holds and rollbacks', { timeout: 600_000 }, async () => {
    const test = await openRelayTest();
    const { outbox, topic, codec } = test;
    const relay = await test.startRelay();
    const counts = await runRandomWriters(outbox, {
      topic,
      writers: 20,
      transactionsEach: 260,
      keys: 100,
      pauseMsMax: 50,
      rollbackShare: 0.1,
      random: Math.random,
    });
    const { rows } = await outbox.client.query<{ last: string }>(
      `select last_value as last from ${outbox.schema}.outbox_position_seq`,
    );
    expect(Number(rows[0]?.last)).toBeGreaterThan(10_000);
    const expected = countedUp(counts);
    const committed = [...counts.values()].reduce((sum, last) => sum + last, 0);
    await waitFor(`${committed} rows`, () => relay.rowsPublished >= committed, { timeoutMs: 60_000 });
    expect(await numbersByKey(codec, await test.readAll(topic))).toEqual(expected);
  });

  it('G1: an altered sequence is refused at start', async () => {
    const test = await openRelayTest();
    await test.outbox.client.query(`alter sequence ${test.outbox.schema}.outbox_position_seq cache 50`);
    await expect(test.startRelay()).rejects.toMatchObject({
      class: 'config',
      message: expect.stringMatching(/has CACHE 50/),
    });
  });
});

describe('P1: a job that is requested in a business transaction', () => {
  it('P1: when the request is visible, the high watermark covers every row that was committed before it', async () => {
    const test = await openRelayTest();
    const { namespace, topic, outbox, cluster, codec } = test;
    const relay = await test.startRelay();
    const writer = await outbox.connect();
    const committed: bigint[] = [];
    let isOver = false;
    const writing = (async () => {
      for (let n = 0; !isOver; n += 1) {
        committed.push(await publish(writer, { namespace, topic, key: `k${n % 50}`, type: 'x', payload: `${n}` }));
      }
    })();
    const description = await cluster.catalog.describe(topic);
    if (description === undefined) throw new Error('the topic is there');
    for (let round = 1; round <= 5; round += 1) {
      const business = await outbox.connect();
      await business.query('begin');
      await publish(business, { namespace, topic, key: 'own', type: 'x', payload: `${round}` });
      const before = await waitFor('rows of the other writer', () => committed.length >= round * 100 && [...committed]);
      const jobId = await requestJob(business, { namespace, request: { topic, handler: 'count' } });
      await business.query('commit');
      const request = await waitFor(`the request ${jobId}`, async () =>
        (await test.readAll(`${namespace}.jobs`)).find((record) => record.key?.toString() === jobId),
      );
      // What a distributor would pin.
      const pinned = (await cluster.catalog.offsets(description)).map((partition) => partition.highWatermark);
      if (request.value === null) throw new Error('a request has a value');
      expect(readRecord(await codec.decode(request.value), SchemaName.jobRequested)).toMatchObject({
        jobId,
        topic,
        handler: 'count',
        attempts: 5,
      });
      const covered = new Set(
        (await test.readAll(topic))
          .filter((record) => record.offset < (pinned[record.partition] ?? 0n))
          .map((record) => record.position),
      );
      expect(before.filter((position) => !covered.has(position))).toEqual([]);
      const own = (await test.readAll(topic)).filter((record) => record.key?.toString() === 'own');
      expect(own.length).toBe(round);
      for (const record of own) expect(covered.has(record.position)).toBe(true);
    }
    isOver = true;
    await writing;
    await waitFor('it publishes', () => relay.state === RelayState.publishing);
  });
});

describe('rivals', () => {
  it('a fenced relay opens a new session, reads its position again, and sends nothing twice', async () => {
    const test = await openRelayTest();
    const { namespace, topic, outbox, cluster, codec } = test;
    await test.startRelay();
    for (let n = 1; n <= 40; n += 1) {
      await publish(outbox.client, { namespace, topic, key: 'k', type: 'x', payload: `{"n":${n}}` });
      if (n % 10 !== 0) continue;
      // A broker that is still ending the relay's transaction refuses it after a while.
      const rival = await waitFor('a rival', () =>
        cluster.openTransactionalWriter({ transactionalId: `${namespace}.relay.main` }),
      );
      await rival.close();
    }
    await waitFor('all rows', async () => (await test.readAll(topic)).length >= 40, { intervalMs: 200 });
    const numbers = await numbersByKey(codec, await test.readAll(topic));
    expect(numbers.get('k')).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
  });

  it('P9: a second relay waits, takes over when the first stops, and goes on where it was', async () => {
    const test = await openRelayTest();
    const { namespace, topic, outbox, codec } = test;
    // So long a lease is lost by nobody who runs, however slow the machine; the other asks often all the same.
    const first = await test.startRelay({ leaseTtlMs: 120_000 });
    await waitFor('its turn', () => first.state === RelayState.publishing);
    const second = await test.startRelay();
    await publish(outbox.client, { namespace, topic, key: 'k', type: 'x', payload: '{"n":1}' });
    await waitFor('the first row', () => first.rowsPublished === 1);
    expect(second.state).toBe(RelayState.standby);
    await first.stop('its turn is over');
    await publish(outbox.client, { namespace, topic, key: 'k', type: 'x', payload: '{"n":2}' });
    await waitFor('the second row', () => second.rowsPublished === 1);
    expect((await numbersByKey(codec, await test.readAll(topic))).get('k')).toEqual([1, 2]);
  });

  it('G12: sessions that are ended under it are replaced, and nothing is lost or sent twice', async () => {
    const test = await openRelayTest();
    const { namespace, topic, outbox, codec } = test;
    const relay = await test.startRelay();
    for (let n = 1; n <= 200; n += 1) {
      await publish(outbox.client, { namespace, topic, key: 'k', type: 'x', payload: `{"n":${n}}` });
      if (n % 20 === 0) {
        await outbox.client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name like $1`,
          [`${namespace}.relay.main%`],
        );
      }
    }
    await waitFor('all rows', () => relay.rowsPublished >= 200, { timeoutMs: 60_000 });
    expect((await numbersByKey(codec, await test.readAll(topic))).get('k')).toEqual(
      Array.from({ length: 200 }, (_, i) => i + 1),
    );
    await waitFor('a listener', async () => {
      const { rows } = await outbox.client.query(`select from pg_stat_activity where application_name = $1`, [
        `${namespace}.relay.main listener`,
      ]);
      return rows.length === 1;
    });
  });
});

describe('positions', () => {
  it('P9: of a first session that ends before its first commit, nothing is missed', async () => {
    const test = await openRelayTest();
    const { namespace, topic, outbox } = test;
    const relay = await test.startRelay();
    await waitFor('the session', () => relay.state === RelayState.publishing);
    // Housekeeping has had a round, and nothing was committed.
    await sleep(1.5 * HOUSEKEEPING_MS);
    await relay.stop('test');
    const { rows } = await outbox.client.query(`select published from ${outbox.schema}.relays`);
    expect(rows).toEqual([{ published: null }]);
    await publish(outbox.client, { namespace, topic, key: 'k', type: 'x', payload: '{}' });
    const again = await test.startRelay();
    await waitFor('the row', () => again.rowsPublished === 1);
  });

  it('are one record of a compacted topic, whose loss is noticed', async () => {
    const test = await openRelayTest();
    const { namespace, topic, outbox, cluster, codec } = test;
    const relay = await test.startRelay();
    await publish(outbox.client, { namespace, topic, key: 'k', type: 'x', payload: '{}' });
    await waitFor('the row', () => relay.rowsPublished === 1);
    const [stored] = (await test.readAll(positionTopicOf(namespace))).slice(-1);
    if (stored?.value == null) throw new Error('a position was stored');
    expect(readRecord(await codec.decode(stored.value), SchemaName.relayPosition)).toMatchObject({
      relay: 'main',
      nextSnapshot: '',
      place: 0n,
      partitionCounts: { [topic]: 3 },
      partitioner: 'murmur2',
    });
    await waitFor('the witness', async () => {
      const { rows } = await outbox.client.query(`select from ${outbox.schema}.relays where published is not null`);
      return rows.length === 1;
    });
    await relay.stop('test');
    const writer = await cluster.openWriter();
    await writer.append([{ topic: positionTopicOf(namespace), partition: 0, key: Buffer.from('main'), value: null }]);
    await writer.close();
    const again = await test.startRelay();
    await expect(again.ended).rejects.toMatchObject({ code: 'POSITION_LOST', class: 'config' });
  });
});
