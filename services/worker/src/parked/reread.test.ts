import { toOffset } from '@tidemark/keyspace';
import type { LogReader } from '@tidemark/log';
import { createMemoryCluster } from '@tidemark/log/testing';
import { describe, expect, it } from 'vitest';
import { intervalsOf, reread } from './reread.ts';

const offsetsOf = (...offsets: number[]) => offsets.map((offset) => toOffset(offset));

async function setUp(count: number, valueBytes = 1) {
  const cluster = createMemoryCluster();
  const { topicId } = cluster.createTopic('t');
  const writer = await cluster.openWriter();
  const value = Buffer.alloc(valueBytes, 'x');
  await writer.append(
    Array.from({ length: count }, (_, place) => ({ topic: 't', partition: 0, key: Buffer.from(String(place)), value })),
  );
  const source = { topic: 't', topicId, partition: 0 };
  let reads = 0;
  const inner = cluster.openReader();
  const reader: LogReader = {
    ...inner,
    read: (request) => {
      reads += 1;
      return inner.read(request);
    },
  };
  const again = (offsets: readonly number[], bytesMax = 1_000_000) =>
    reread({ reader, source, offsets: offsetsOf(...offsets), bytesMax, signal: new AbortController().signal });
  return { cluster, source, again, reads: () => reads };
}

describe('reread', () => {
  it('finds the records, neighbours in one go', async () => {
    const { again, reads } = await setUp(1_000);
    const answer = await again([3, 4, 90, 600]);
    expect(answer).toMatchObject({ kind: 'read', gone: [] });
    if (answer.kind === 'read') expect([...answer.records.keys()]).toEqual([3n, 4n, 90n, 600n]);
    expect(reads()).toBe(2);
  });

  it('tells those that are gone: below the log start, or compacted away', async () => {
    const { cluster, source, again } = await setUp(20);
    cluster.compact('t', 0, ({ offset }) => offset !== 12n);
    await cluster.catalog.deleteRecordsBefore(source, toOffset(5));
    const answer = await again([2, 4, 7, 12, 13]);
    expect(answer).toMatchObject({ kind: 'read', gone: [2n, 4n, 12n] });
    if (answer.kind === 'read') expect([...answer.records.keys()]).toEqual([7n, 13n]);
  });

  it('leaves what does not fit into its bytes for another time, and does not call it gone', async () => {
    const { again } = await setUp(1_000, 100);
    const answer = await again([0, 300, 600, 900], 150);
    expect(answer).toMatchObject({ kind: 'read', gone: [] });
    if (answer.kind === 'read') expect([...answer.records.keys()]).toEqual([0n, 300n]);
  });

  it('hands on what the log says else', async () => {
    const { cluster, again } = await setUp(10);
    cluster.recreateTopic('t');
    expect(await again([3])).toMatchObject({ kind: 'refused', answer: { kind: 'topic recreated' }, cursor: 2n });
  });
});

it('puts neighbouring offsets into intervals', () => {
  expect(intervalsOf(offsetsOf(1, 2, 3, 7, 9, 10))).toEqual([
    { first: 1n, last: 3n },
    { first: 7n, last: 7n },
    { first: 9n, last: 10n },
  ]);
  expect(intervalsOf([])).toEqual([]);
});
