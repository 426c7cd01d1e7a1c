import { SchemaName } from '@tidemark/contracts';
import { exitCodeOf } from '@tidemark/observability';
import { positionTopicOf } from '@tidemark/outbox';
import { publish } from '@tidemark/outbox/postgres';
import { addPartitions, createTopic, uniqueName, waitFor } from '@tidemark/testkit';
import { describe, expect, it } from 'vitest';
import type { Relay } from './relay.ts';
import { keysIn, openRelayTest } from './testing/harness.ts';

async function failureOf(relay: Relay): Promise<unknown> {
  return relay.ended.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('a row that cannot be sent stops the relay behind everything before it, and loses nothing', () => {
  it('a topic that does not exist, which is never created', async () => {
    const test = await openRelayTest();
    const { namespace, topic, outbox } = test;
    const missing = uniqueName('missing');
    const event = { namespace, topic, type: 'x', payload: '{}' };
    await publish(outbox.client, { ...event, key: 'a' });
    const position = await publish(outbox.client, { ...event, topic: missing, key: 'b' });
    await publish(outbox.client, { ...event, key: 'c' });
    const relay = await test.startRelay();
    const failure = await failureOf(relay);
    expect(exitCodeOf(failure)).toBe(1);
    expect(failure).toMatchObject({
      code: 'ROW_UNSENDABLE',
      context: { position, topic: missing, key: '"b"' },
      message: expect.stringMatching(
        new RegExp(`position ${position} .*topic "${missing}", key "b", \\d+ bytes.*does not exist`),
      ),
    });
    expect(await keysIn(test, topic)).toEqual(['a']);
    expect(await test.cluster.catalog.describe(missing)).toBeUndefined();
    // The next one stops at the same row, until somebody makes the topic.
    expect(await failureOf(await test.startRelay())).toMatchObject({ code: 'ROW_UNSENDABLE' });
    await createTopic(missing);
    const healed = await test.startRelay();
    await waitFor('the rest', () => healed.rowsPublished === 2);
    expect(await keysIn(test, topic)).toEqual(['a', 'c']);
    expect(await keysIn(test, missing)).toEqual(['b']);
  });

  it('a topic whose partition count has changed, because keys would move', async () => {
    const test = await openRelayTest();
    const { namespace, topic, outbox } = test;
    const event = { namespace, topic, type: 'x', payload: '{}' };
    await publish(outbox.client, { ...event, key: 'a' });
    const relay = await test.startRelay();
    await waitFor('the first row', () => relay.rowsPublished === 1);
    await relay.stop('test');
    await addPartitions(topic, 5);
    await publish(outbox.client, { ...event, key: 'b' });
    expect(await failureOf(await test.startRelay())).toMatchObject({
      code: 'ROW_UNSENDABLE',
      message: expect.stringMatching(/has 5 partitions now, and its keys were spread over 3/),
    });
    expect(await keysIn(test, topic)).toEqual(['a']);
  });
});

it('a position of another database cluster stops the relay before it sends anything', async () => {
  const test = await openRelayTest();
  const { namespace, topic, outbox, cluster, codec } = test;
  await publish(outbox.client, { namespace, topic, key: 'a', type: 'x', payload: '{}' });
  const relay = await test.startRelay();
  await waitFor('the row', () => relay.rowsPublished === 1);
  await relay.stop('test');
  const writer = await cluster.openWriter();
  const value = await codec.encode(SchemaName.relayPosition, {
    formatVersion: 1,
    relay: 'main',
    snapshot: '900000000:900000000:',
    nextSnapshot: '',
    place: 0n,
    walInsertLsn: '0/1',
    systemIdentifier: '42',
    timeline: 1,
    partitionCounts: {},
    partitioner: 'murmur2',
    parked: [],
    atMs: 0n,
  });
  await writer.append([{ topic: positionTopicOf(namespace), partition: 0, key: Buffer.from('main'), value }]);
  await writer.close();
  await publish(outbox.client, { namespace, topic, key: 'b', type: 'x', payload: '{}' });
  expect(await failureOf(await test.startRelay())).toMatchObject({
    code: 'FOREIGN_DATABASE',
    class: 'config',
    message: expect.stringMatching(/belongs to database cluster 42/),
  });
  expect(await keysIn(test, topic)).toEqual(['a']);
});
