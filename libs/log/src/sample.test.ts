import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { sampleBytesPerOffset, sampleLowestBytesPerOffset } from './sample.ts';
import { createMemoryCluster } from './testing/memory-cluster.ts';

async function sampled(
  values: readonly number[],
  deleteBefore = 0n,
  sample: typeof sampleBytesPerOffset = sampleBytesPerOffset,
): Promise<number> {
  const cluster = createMemoryCluster();
  const topic = cluster.createTopic('orders');
  const writer = await cluster.openWriter();
  await writer.append(values.map((size) => ({ topic: 'orders', partition: 0, key: null, value: Buffer.alloc(size) })));
  const source = { topic: 'orders', topicId: topic.topicId, partition: 0 };
  if (deleteBefore > 0n) await cluster.catalog.deleteRecordsBefore(source, toOffset(deleteBefore));
  const [offsets] = await cluster.catalog.offsets(topic);
  if (offsets === undefined) throw new Error('no partition');
  return sample(cluster.openReader(), source, offsets);
}

it('finds the size of equal records, wherever the log begins', async () => {
  expect(await sampled(Array.from({ length: 1_000 }, () => 100))).toBe(100);
  expect(
    await sampled(
      Array.from({ length: 1_000 }, () => 100),
      400n,
    ),
  ).toBe(100);
});

it('weighs the beginning, the middle and the end of a log whose records grow', async () => {
  const growing = Array.from({ length: 3_000 }, (_, index) => (index < 1_500 ? 100 : 300));
  const estimate = await sampled(growing);
  expect(estimate).toBeGreaterThan(120);
  expect(estimate).toBeLessThan(280);
});

it('is zero for an empty log', async () => {
  expect(await sampled([])).toBe(0);
});

it('has a lowest size that one large record does not move, wherever it is', async () => {
  const small = Array.from({ length: 3_000 }, () => 100);
  const large = 900_000;
  const lowest = (values: readonly number[]) => sampled(values, 0n, sampleLowestBytesPerOffset);
  expect(await sampled([large, ...small])).toBeGreaterThan(1_000);
  expect(await lowest([large, ...small])).toBe(100);
  expect(await lowest([...small, large])).toBe(100);
  expect(await lowest([...small.slice(0, 1_000), large, ...small.slice(1_000)])).toBe(100);
  expect(await lowest([large, large, large])).toBe(large);
  expect(await lowest([])).toBe(0);
});
