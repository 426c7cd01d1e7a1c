import { positionTopicOf } from '@tidemark/outbox';
import { publish } from '@tidemark/outbox/postgres';
import { addPartitions, deleteRecordsBefore, deleteTopic, waitFor } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { positionRecord, readPosition } from './position-topic.ts';
import { keysIn, limitRecords, openRelayTest, type RelayTest, withCommit } from './testing/harness.ts';
import { committedIds, failureOf, keepRows, publishedIds, rebaseOf, witnessed } from './testing/rebase-bench.ts';

const NOTHING_UNDECIDED = { obstacles: [], applied: true };

async function publishKeys(test: RelayTest, keys: readonly string[], topic = test.topic): Promise<void> {
  const event = { namespace: test.namespace, topic, type: 'x' };
  for (const key of keys) await publish(test.outbox.client, { ...event, key, payload: '{}' });
}

async function forgetPositions(test: RelayTest): Promise<void> {
  const topic = positionTopicOf(test.namespace);
  await deleteTopic(topic);
  await waitFor('the topic of positions to be gone', async () => !(await test.cluster.catalog.describe(topic)));
}

it('P9: a position that was lost is found again by the ids in the topics, also when the rebase is cut short', async () => {
  const test = await openRelayTest();
  const { outbox, namespace, topic, cluster } = test;
  const small = await test.createTopic();
  await limitRecords(small, 1_000);
  const letGo = await keepRows(outbox.client, namespace);
  const rebase = rebaseOf(test);
  await publishKeys(test, ['a', 'b', 'a', 'c']);
  const big = { namespace, topic: small, key: 'big', type: 'x' };
  await publish(outbox.client, { ...big, payload: JSON.stringify('x'.repeat(2_000)) });
  await publish(outbox.client, { ...big, payload: '1' });
  const cut = await test.createTopic({ partitions: 1 });
  await publishKeys(test, ['cut-b', 'cut-a', 'cut-a'], cut);
  // So long a lease is not over while it is to be respected, however slow the machine.
  const relay = await test.startRelay({ leaseTtlMs: 120_000 });
  await waitFor('what can be sent', () => relay.rowsPublished === 7);
  await witnessed(outbox.client, namespace);
  // While it publishes, everything fits, and the lease is respected.
  expect(await rebase.inspect()).toMatchObject({ fit: { kind: 'same' }, isNewPosition: false, movesKeys: false });
  expect(await rebase.apply()).toMatchObject({ applied: false, isNewPosition: false });
  await expect(rebase.apply({ compare: true })).rejects.toMatchObject({ code: 'LEASE_HELD', class: 'config' });
  await relay.stop('test');
  await publishKeys(test, ['a', 'd']);
  const truth = new Map(await committedIds(outbox.client, namespace));
  await letGo();
  await forgetPositions(test);
  // Retention took two of three: of the first of a key that went on it can be told, of the other it cannot.
  const [, , newest] = await test.readAll(cut);
  await deleteRecordsBefore(cut, 0, newest?.offset ?? 0n);
  truth.delete('cut-b');
  truth.set('cut-a', truth.get('cut-a')?.slice(1) ?? []);

  const refusal = { code: 'POSITION_LOST', message: expect.stringContaining('"tidemark relay rebase"') };
  expect(await failureOf(await test.startRelay())).toMatchObject(refusal);
  expect(await rebase.inspect()).toMatchObject({
    fit: { kind: 'lost' },
    isNewPosition: true,
    obstacles: [{ option: '--unknown send|skip' }],
    applied: false,
    extra: undefined,
    topics: expect.arrayContaining([
      { topic: cut, published: 1, superseded: 1, unpublished: 0, unknown: 1, isWhole: false },
      { topic, published: 4, superseded: 0, unpublished: 2, unknown: 0, isWhole: true },
      { topic: small, published: 0, superseded: 0, unpublished: 2, unknown: 0, isWhole: true },
    ]),
  });

  expect(await rebase.apply()).toMatchObject({ applied: false });
  const consents = { movedKeys: false, unknownRows: 'skip' } as const;
  // Cut short between the database and Kafka: still the old state, and refused as before.
  const failing = withCommit(cluster, () => Promise.reject(new Error('cut short')));
  await expect(rebase.apply({ cluster: failing, consents })).rejects.toThrow('cut short');
  expect(await failureOf(await test.startRelay())).toMatchObject(refusal);
  // The answer of the commit is lost: the new state.
  const answerLost = withCommit(cluster, async (records, writer) => {
    await writer.commit(records);
    throw new Error('answer lost');
  });
  await expect(rebase.apply({ cluster: answerLost, consents })).rejects.toThrow('answer lost');
  expect(await rebase.inspect()).toMatchObject({ fit: { kind: 'same' }, isNewPosition: false });

  await limitRecords(small, 10_000);
  const after = await test.startRelay();
  await publishKeys(test, ['a']);
  await publishKeys(test, ['big'], small);
  await waitFor('the rest', () => after.rowsPublished === 6);
  const all = await publishedIds(test, [topic, small, cut]);
  for (const [key, ids] of truth) expect(all.get(key)?.slice(0, ids.length), key).toEqual(ids);
  expect([...all.values()].flat()).toHaveLength(11);
});

it('P9: keys go to other partitions when a person accepts it, and the report says from where on', async () => {
  const test = await openRelayTest();
  const { topic, cluster } = test;
  const rebase = rebaseOf(test);
  await publishKeys(test, ['a', 'b', 'c', 'd']);
  const relay = await test.startRelay();
  await waitFor('the first rows', () => relay.rowsPublished === 4);
  await relay.stop('test');
  await addPartitions(topic, 5);
  await publishKeys(test, ['a', 'e']);
  expect(await failureOf(await test.startRelay())).toMatchObject({
    code: 'ROW_UNSENDABLE',
    message: expect.stringMatching(/"tidemark relay rebase" .*--accept-partitions --apply/),
  });
  const described = await cluster.catalog.describe(topic);
  if (described === undefined) throw new Error('no topic');
  const ends = (await cluster.catalog.offsets(described)).map(({ highWatermark }) => highWatermark);
  const moved = { movesKeys: true, isNewPosition: false, moves: [{ topic, from: 3, to: 5, fromOffsets: ends }] };
  expect(await rebase.inspect()).toMatchObject({ ...moved, fit: { kind: 'same' } });
  expect(await rebase.apply()).toMatchObject({
    ...moved,
    applied: false,
    obstacles: [{ option: '--accept-partitions' }],
  });
  const consents = { movedKeys: true, unknownRows: undefined };
  expect(await rebase.apply({ consents })).toMatchObject({ ...moved, ...NOTHING_UNDECIDED });
  const after = await test.startRelay();
  await waitFor('the rest', () => after.rowsPublished === 2);
  await after.stop('test');
  expect(await keysIn(test, topic)).toEqual(['a', 'a', 'b', 'c', 'd', 'e']);

  // Another program spread the keys.
  await spreadBy(test, 'crc32');
  await publishKeys(test, ['f']);
  expect(await failureOf(await test.startRelay())).toMatchObject({ code: 'PARTITIONER_CHANGED' });
  expect(await rebase.apply({ consents })).toMatchObject({ movesKeys: true, partitioner: 'crc32', applied: true });
  const last = await test.startRelay();
  await waitFor('the last row', () => last.rowsPublished === 1);
});

it('G16: --compare sends what lies behind a position that fits, as after a disk that was put back unnoticed', async () => {
  const test = await openRelayTest();
  const { outbox, namespace, topic } = test;
  const rebase = rebaseOf(test);
  await publishKeys(test, ['a']);
  const relay = await test.startRelay();
  await waitFor('the first row', () => relay.rowsPublished === 1);
  await relay.stop('test');
  // A transaction id that was given out, and published, once before.
  await publishKeys(test, ['b']);
  await outbox.client.query(`update "${namespace}".outbox set txid = '3' where key = 'b'`);
  expect(await rebase.inspect()).toMatchObject({ fit: { kind: 'same' }, isNewPosition: false });
  expect(await rebase.apply({ compare: true })).toMatchObject({
    ...{ fit: { kind: 'same' }, isNewPosition: true, applied: true },
    topics: [{ topic, unpublished: 1 }],
  });
  const after = await test.startRelay();
  await waitFor('the row behind the position', () => after.rowsPublished === 1);
  expect(await keysIn(test, topic)).toEqual(['a', 'b']);
});

/** The position as it is, but for the partitioner. */
async function spreadBy({ cluster, codec, namespace }: RelayTest, partitioner: string): Promise<void> {
  const name = positionTopicOf(namespace);
  const topic = await cluster.catalog.describe(name);
  const { signal } = new AbortController();
  const stored = topic === undefined ? undefined : await readPosition(cluster, codec, { topic, relay: 'main', signal });
  if (stored === undefined) throw new Error('no position');
  const place = { topic: name, relay: 'main', atMs: 0n };
  const writer = await cluster.openWriter();
  await writer.append([await positionRecord(codec, { ...stored, partitioner }, place)]);
  await writer.close();
}
