import { createMemoryCluster } from '@tidemark/log/testing';
import { expect, it } from 'vitest';
import { policyTargets } from './target.ts';

const SMALL = 100;
const COUNT = 3_000;
const LARGE = 900_000;

async function targetOf(sizes: readonly number[], bytes: bigint) {
  const cluster = createMemoryCluster();
  const topic = cluster.createTopic('orders');
  const writer = await cluster.openWriter();
  await writer.append(sizes.map((size) => ({ topic: 'orders', partition: 0, key: null, value: Buffer.alloc(size) })));
  const offsets = await cluster.catalog.offsets(topic);
  const policy = { topic: 'orders', ageMs: undefined, bytes };
  const { catalog } = cluster;
  const [target] = await policyTargets({ catalog, reader: cluster.openReader(), topic, offsets, policy, nowMs: 0 });
  return target;
}

const small = Array.from({ length: COUNT }, () => SMALL);

it('cuts to the size when records are alike', async () => {
  expect(await targetOf(small, BigInt(SMALL * 1_000))).toBe(BigInt(COUNT - 1_000));
});

it.each([
  ['at the start of the log', [LARGE, ...small]],
  ['at its end', [...small, LARGE]],
])('one large record %s does not make it cut a log that is within the size', async (_, sizes) => {
  expect(await targetOf(sizes, BigInt(SMALL * COUNT + LARGE))).toBe(0n);
});

it('keeps at least the size behind a large record at the start of the log', async () => {
  expect(await targetOf([LARGE, ...small], BigInt(SMALL * 1_000))).toBe(BigInt(COUNT + 1 - 1_000));
});

it('C1: a policy whose time is after the last record reaches to the end of what is stable, and never below nothing', async () => {
  const cluster = createMemoryCluster();
  const topic = cluster.createTopic('orders', { partitionCount: 2 });
  const writer = await cluster.openWriter();
  const times = Array.from({ length: 10 }, (_, second) => BigInt(second * 1_000));
  const value = Buffer.from('x');
  await writer.append(times.map((timestampMs) => ({ topic: 'orders', partition: 0, key: null, value, timestampMs })));
  const offsets = await cluster.catalog.offsets(topic);
  const { catalog } = cluster;
  const targetsAt = (nowMs: number, ageMs: number) => {
    const policy = { topic: 'orders', ageMs, bytes: undefined };
    return policyTargets({ catalog, reader: cluster.openReader(), topic, offsets, policy, nowMs });
  };
  expect(await targetsAt(3_600_000, 1_000)).toEqual([10n, 0n]);
  expect(await targetsAt(5_500, 1_000)).toEqual([5n, 0n]);
  expect(await targetsAt(5_500, 3_600_000)).toEqual([0n, 0n]);
});
