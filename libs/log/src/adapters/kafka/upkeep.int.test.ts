/** The disks under logs, as a real broker tells them; groups and settings are part of the contract. */
import { createTopic, produce, services, uniqueName } from '@tidemark/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { createKafkaCluster } from './cluster.ts';

it('tells of the disk under a topic how large it is, what is left, and what the logs take', async () => {
  const cluster = createKafkaCluster({ brokers: [services().kafka], clientId: uniqueName('upkeep') });
  onTestFinished(() => cluster.close());
  const name = await createTopic(uniqueName('upkeep'), { partitions: 2 });
  await produce(name, [{ partition: 1, value: 'x'.repeat(10_000) }]);
  const description = await cluster.catalog.describe(name);
  if (description === undefined) throw new Error('the topic is gone');
  const disks = await cluster.catalog.disks([description]);
  expect(disks).toHaveLength(1);
  const [disk] = disks;
  expect(disk?.directory).not.toBe('');
  expect(disk?.totalBytes).toBeGreaterThan(disk?.usableBytes ?? 0n);
  expect(disk?.usableBytes).toBeGreaterThan(0n);
  const bytes = new Map(disk?.logs.map((log) => [`${log.topic}/${log.partition}`, log.bytes]));
  expect(bytes.get(`${name}/0`)).toBe(0n);
  expect(bytes.get(`${name}/1`)).toBeGreaterThan(10_000n);
  expect(bytes.get(`${name}/1`)).toBeLessThan(12_000n);
  expect(await cluster.catalog.disks([])).toEqual([]);
});
