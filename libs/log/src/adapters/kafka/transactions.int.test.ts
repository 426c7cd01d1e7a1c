import { createTopic, produceTransactions, uniqueName, waitFor } from '@tidemark/testkit';
import fc from 'fast-check';
import type { Message } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TopicDescription } from '../../ports.ts';
import { arbitraryActions } from '../../testing/arbitrary-actions.ts';
import type { DrivenTransaction, LogHarness } from '../../testing/contract-harness.ts';
import { judge } from '../../testing/judge.ts';
import { beginTransaction, openKafkaHarness } from '../../testing/kafka-harness.ts';
import { type Action, playModel } from '../../testing/model-log.ts';
import { readAll, WRITTEN_WAIT_MS } from '../../testing/read-all.ts';

let harness: LogHarness;
beforeAll(async () => {
  harness = await openKafkaHarness();
});
afterAll(() => harness.close());

function values(count: number, from = 0, valueBytes = 0): Message[] {
  return Array.from({ length: count }, (_, index) => ({ value: `${from + index}`.padEnd(valueBytes, '.') }));
}

async function described(topic: string): Promise<TopicDescription> {
  const description = await harness.cluster.catalog.describe(topic);
  if (description === undefined) throw new Error(`topic ${topic} is missing`);
  return description;
}

describe('read-committed reading of transactional logs', () => {
  it('A8: holes are not loss, wherever a window starts', async () => {
    const topic = await createTopic(uniqueName('a8'));
    await produceTransactions(
      topic,
      Array.from({ length: 300 }, (_, index) => ({ outcome: 'commit' as const, messages: values(1, index) })),
    );
    const { topicId } = await described(topic);
    const reader = harness.cluster.openReader();
    for (const cursor of [1n, 99n, 101n, 301n, 597n]) {
      const {
        offsets,
        stop,
        cursor: reached,
      } = await readAll({
        reader,
        source: { topic, topicId, partition: 0 },
        cursor,
        end: 599n,
        waitMs: WRITTEN_WAIT_MS,
      });
      const above = Array.from({ length: 300 }, (_, index) => index * 2).filter((offset) => offset > cursor);
      expect([offsets, stop, reached]).toEqual([above, undefined, 599n]);
    }
    await reader.close();
  });

  it('A9: abort, commit, commit, abort, an abort that wrote nothing here, and a position in the same transactions', async () => {
    const [topic, positions] = [await createTopic(uniqueName('a9')), await createTopic(uniqueName('a9-positions'))];
    const producer = { transactionalId: uniqueName('a9') };
    const run = async (outcome: 'abort' | 'commit', from: number): Promise<void> => {
      const transaction = await beginTransaction(producer.transactionalId);
      await transaction.append(
        values(3, from).map(({ value }) => ({ topic, partition: 0, key: null, value: Buffer.from(String(value)) })),
      );
      await transaction.append([
        { topic: positions, partition: 0, key: Buffer.from('p'), value: Buffer.from(String(from)) },
      ]);
      await (outcome === 'commit' ? transaction.commit() : transaction.abort());
    };
    await run('abort', 0);
    await run('commit', 3);
    await run('commit', 6);
    await run('abort', 9);
    const nothingHere = await beginTransaction(producer.transactionalId);
    await nothingHere.append([{ topic: positions, partition: 0, key: Buffer.from('p'), value: Buffer.from('99') }]);
    await nothingHere.abort();
    const { ours, judges, reading, log } = await judge(topic, { recordsMax: 2 });
    expect(ours.map(({ value }) => value?.toString())).toEqual(['3', '4', '5', '6', '7', '8']);
    expect(ours).toEqual(judges);
    expect(reading.cursor).toBe(log.highWatermark - 1n);
    const position = await judge(positions);
    expect(position.ours).toEqual(position.judges);
    expect(position.ours.at(-1)?.value?.toString()).toBe('6');
  });

  it('A9: the same with 5,000 records a transaction and fetches of 64 KiB', async () => {
    const topic = await createTopic(uniqueName('a9-large'));
    const outcomes = ['abort', 'commit', 'commit', 'abort'] as const;
    // Batches of 500 and values of 100 bytes: a transaction spans several answers, an answer several batches.
    const producer = { transactionalId: uniqueName('a9-large') };
    for (const outcome of outcomes) {
      const transaction = await beginTransaction(producer.transactionalId);
      for (let batch = 0; batch < 10; batch++) {
        await transaction.append(
          values(500, batch * 500, 100).map(({ value }) => ({
            topic,
            partition: 0,
            key: null,
            value: Buffer.from(String(value)),
          })),
        );
      }
      await (outcome === 'commit' ? transaction.commit() : transaction.abort());
    }
    const { ours, judges, reading, log } = await judge(topic, { recordsMax: 700, bytesMax: 65_536 });
    expect(ours).toHaveLength(10_000);
    expect(ours.every(({ offset }) => offset > 5_000n && offset < 15_003n)).toBe(true);
    expect(judges).toEqual(ours);
    expect(reading.cursor).toBe(log.highWatermark - 1n);
  });

  it('A9: two producers interleaved, whose aborts complete in the other order than they began', async () => {
    const topic = await createTopic(uniqueName('a9-two'));
    const record = (value: string) => ({ topic, partition: 0, key: null, value: Buffer.from(value) });
    const [a, b, c] = [await beginTransaction(), await beginTransaction(), await beginTransaction()];
    await a.append([record('a1'), record('a2')]);
    await b.append([record('b1')]);
    await c.append([record('c1')]);
    await b.abort();
    await c.append([record('c2')]);
    await a.abort();
    await c.commit();
    const { ours, judges, reading, log } = await judge(topic, { recordsMax: 2 });
    expect(ours.map(({ value }) => value?.toString())).toEqual(['c1', 'c2']);
    expect(judges).toEqual(ours);
    expect(reading.cursor).toBe(log.highWatermark - 1n);
  });

  it('delivers what the definition says for random interleavings on the real broker', async () => {
    await fc.assert(
      fc.asyncProperty(
        arbitraryActions({ producers: 3, actionsMax: 14, recordsMax: 3 }),
        fc.integer({ min: 1, max: 5 }),
        async (actions, recordsMax) => {
          const topic = await harness.createTopic();
          const open = await perform(actions, topic.topic);
          const model = playModel(actions);
          const { highWatermark, lastStableOffset } = model;
          // The broker moves the two one after the other.
          await expect
            .poll(() => harness.cluster.catalog.offsets(topic), { timeout: WRITTEN_WAIT_MS })
            .toMatchObject([{ highWatermark, lastStableOffset }]);
          const reader = harness.cluster.openReader();
          const source = { topic: topic.topic, topicId: topic.topicId, partition: 0 };
          const { offsets } = await readAll({ reader, source, end: lastStableOffset - 1n, recordsMax });
          await reader.close();
          await Promise.all(open.map((transaction) => transaction.abort()));
          expect(offsets).toEqual([...model.committed].map(Number).sort((x, y) => x - y));
        },
      ),
      { numRuns: 12, endOnFailure: true },
    );
  });
});

/** Plays the actions one after another; returns the transactions that are left open. */
async function perform(actions: readonly Action[], topic: string): Promise<readonly DrivenTransaction[]> {
  const open = new Map<number, DrivenTransaction>();
  const records = (count: number) =>
    Array.from({ length: count }, () => ({ topic, partition: 0, key: null, value: Buffer.from('x') }));
  const writer = await harness.cluster.openWriter();
  for (const action of actions) {
    if (action.kind === 'plain') {
      await writer.append(records(action.records));
    } else if (action.kind === 'send') {
      const transaction = open.get(action.producer) ?? (await beginTransaction());
      open.set(action.producer, transaction);
      await transaction.append(records(action.records));
    } else {
      const transaction = open.get(action.producer);
      open.delete(action.producer);
      if (transaction !== undefined) await endAndSettle(transaction, action.outcome, topic);
    }
  }
  await writer.close();
  return [...open.values()];
}

/** Markers are written after the commit returns; the model has them at once, so this waits until the offset is taken. */
async function endAndSettle(transaction: DrivenTransaction, outcome: 'abort' | 'commit', topic: string): Promise<void> {
  const before = await highWatermarkOf(topic);
  await (outcome === 'commit' ? transaction.commit() : transaction.abort());
  await waitFor('the marker', async () => (await highWatermarkOf(topic)) !== before, { intervalMs: 1 });
}

async function highWatermarkOf(topic: string): Promise<bigint | undefined> {
  return (await harness.cluster.catalog.offsets(await described(topic)))[0]?.highWatermark;
}
