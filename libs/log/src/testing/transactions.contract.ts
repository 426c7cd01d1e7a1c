import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import type { LogEntry, TransactionOutcome } from '../ports.ts';
import { append, type LogHarness, numbered, recordFor, sourceOf } from './contract-harness.ts';
import { WRITTEN_WAIT_MS } from './read-all.ts';

export function ongoingContract(harness: () => LogHarness): void {
  it('shows what is open in a partition, by whom and since where, and nothing of topics that do not exist', async () => {
    const { cluster } = harness();
    const { transactions } = cluster.catalog;
    const topic = await harness().createTopic({ partitionCount: 2 });
    const name = (partition: number) => ({ topic: topic.topic, partition });
    await append(cluster, numbered(topic, 0, 3));
    const [one, two] = [await harness().begin(), await harness().begin()];
    await one.append(numbered(topic, 10, 2));
    await two.append([{ ...recordFor(topic, 'x'), partition: 1 }]);
    const asked = [name(0), name(1), { topic: harness().uniqueName('missing'), partition: 0 }];
    const ongoing = await transactions.ongoing(asked);
    expect(ongoing).toMatchObject([
      { ...name(0), firstOffset: 3n },
      { ...name(1), firstOffset: 0n },
    ]);
    expect(ongoing[0]?.producerId).not.toBe(ongoing[1]?.producerId);
    expect(await transactions.ongoing([name(1)])).toEqual(ongoing.slice(1));
    await one.abort();
    await two.commit();
    await expect.poll(() => transactions.ongoing(asked), { timeout: WRITTEN_WAIT_MS }).toEqual([]);
  });

  it.each<TransactionOutcome>(['commit', 'abort'])('ends a transaction in one partition: %s', async (outcome) => {
    const { cluster } = harness();
    const { transactions } = cluster.catalog;
    const topic = await harness().createTopic();
    const open = await harness().begin();
    await open.append(numbered(topic, 0, 2));
    await append(cluster, numbered(topic, 5, 1));
    const [ongoing] = await transactions.ongoing([{ topic: topic.topic, partition: 0 }]);
    if (ongoing === undefined) throw new Error('a transaction is open');
    await transactions.end(ongoing, outcome);
    expect(await transactions.ongoing([ongoing])).toEqual([]);
    await expect
      .poll(() => cluster.catalog.offsets(topic), { timeout: WRITTEN_WAIT_MS })
      .toMatchObject([{ lastStableOffset: 4n, highWatermark: 4n }]);
    const entries = await entriesFrom(harness(), topic, 1n);
    expect(entries.map(shown)).toEqual([['1'], ['5'], `${outcome} at 3`]);
    const { producerId } = ongoing;
    expect(entries.map((entry) => entry.producerId === producerId)).toEqual([true, false, true]);
    expect(entries.map((entry) => entry.kind === 'data' && entry.transactional)).toEqual([true, false, false]);
  });

  it('tells who writes under a transactional id, and that nobody does', async () => {
    const { cluster } = harness();
    const { transactions } = cluster.catalog;
    const transactionalId = harness().uniqueName('tx');
    expect(await transactions.producerOf(transactionalId)).toBeUndefined();
    const first = await cluster.openTransactionalWriter({ transactionalId });
    const before = await transactions.producerOf(transactionalId);
    const second = await cluster.openTransactionalWriter({ transactionalId });
    const after = await transactions.producerOf(transactionalId);
    expect(after?.producerId).toBe(before?.producerId);
    expect(after?.producerEpoch).toBeGreaterThan(before?.producerEpoch ?? Number.POSITIVE_INFINITY);
    await Promise.all([first.close(), second.close()]);
  });
}

async function entriesFrom(
  harness: LogHarness,
  topic: Parameters<typeof sourceOf>[0],
  from: bigint,
): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  const source = sourceOf(topic);
  for await (const entry of harness.cluster.catalog.transactions.entries(source, toOffset(from))) entries.push(entry);
  return entries;
}

function shown(entry: LogEntry): unknown {
  if (entry.kind === 'marker') return `${entry.outcome} at ${entry.offset}`;
  return entry.records.map(({ value }) => value?.toString());
}
