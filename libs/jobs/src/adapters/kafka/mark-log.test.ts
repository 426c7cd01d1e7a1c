/** The marks over the in-memory log. On real services the guard drives the same code. */
import type { TruncationMark } from '@tidemark/contracts';
import { createMemoryCodec } from '@tidemark/contracts/testing';
import { createMemoryCluster } from '@tidemark/log/testing';
import { expect, it } from 'vitest';
import { markOf } from '../../marks.ts';
import { jobTopicSpecs } from '../../topics.ts';
import { openJobJournal } from './job-journal.ts';
import { createMarkLog } from './mark-log.ts';

function mark(fields: Partial<TruncationMark>): TruncationMark {
  const place = { topic: 'orders', topicId: 'id', partition: 0 };
  return { formatVersion: 1, ...place, offset: 1n, guard: 'here/1', atMs: 0n, ...fields };
}

async function ensured() {
  const parts = { cluster: createMemoryCluster(), codec: createMemoryCodec(), namespace: 'test' };
  const marks = createMarkLog(parts);
  await marks.ensure(1);
  return { ...parts, marks };
}

it('gives the highest mark of each partition of each incarnation, and zero where there is none', async () => {
  const { marks, cluster } = await ensured();
  const session = await marks.openSession();
  await session.write([mark({ offset: 5n }), mark({ partition: 1, offset: 7n })]);
  await session.write([mark({ offset: 9n }), mark({ partition: 1, topicId: 'recreated', offset: 2n })]);
  await session.close();
  const loaded = await marks.load();
  expect(markOf(loaded, { topic: 'orders', topicId: 'id', partition: 0 })).toBe(9n);
  expect(markOf(loaded, { topic: 'orders', topicId: 'recreated', partition: 1 })).toBe(2n);
  expect(markOf(loaded, { topic: 'orders', topicId: 'id', partition: 2 })).toBe(0n);
  cluster.compact('test.marks', 0);
  expect(markOf(await marks.load(), { topic: 'orders', topicId: 'id', partition: 0 })).toBe(9n);
});

it('fences the older of two sessions, so that a late write cannot put a lower mark over a higher one', async () => {
  const { marks } = await ensured();
  const older = await marks.openSession();
  const younger = await marks.openSession();
  await younger.write([mark({ offset: 9n })]);
  await expect(older.write([mark({ offset: 5n })])).rejects.toMatchObject({ class: 'fenced' });
  expect(markOf(await marks.load(), mark({}))).toBe(9n);
});

it('names a marks topic that is missing instead of taking it for one without marks', async () => {
  const parts = { cluster: createMemoryCluster(), codec: createMemoryCodec(), namespace: 'test' };
  await expect(createMarkLog(parts).load()).rejects.toMatchObject({ code: 'OWN_TOPIC_BROKEN' });
});

it('tells the store that the distributor fills, from its newest transaction', async () => {
  const { marks, cluster, codec, namespace } = await ensured();
  expect((await marks.load()).store).toBeUndefined();
  for (const spec of Object.values(jobTopicSpecs(namespace, 1))) await cluster.catalog.ensure(spec);
  const journal = await openJobJournal({ cluster, codec, namespace, transactionalId: 'one' });
  const position = { formatVersion: 1, partition: 0, nextOffset: 0n, atMs: 0n };
  for (const incarnation of ['first', 'second']) {
    const store = { formatVersion: 1, incarnation, distributor: 'here/1', atMs: 0n };
    await journal.commit({ store, position });
  }
  expect((await marks.load()).store?.incarnation).toBe('second');
});
