import { deadLetterHeaders, deadLetterTopic } from '@tidemark/jobs';
import { toOffset } from '@tidemark/keyspace';
import { createMemoryCluster, type MemoryCluster } from '@tidemark/log/testing';
import { beforeEach, expect, it } from 'vitest';
import { createLetterIndex, type GroupedLetters, type LetterIndex } from './letter-groups.ts';

let cluster: MemoryCluster;
/** A clock that a test moves. */
let nowMs: number;
let index: LetterIndex;

beforeEach(() => {
  cluster = createMemoryCluster();
  cluster.createTopic('orders');
  cluster.createTopic(deadLetterTopic('orders'), { partitionCount: 2 });
  nowMs = 0;
  index = createLetterIndex({ cluster }, () => nowMs);
});

async function write(count: number, partition = 0, error = 'bad'): Promise<void> {
  const writer = await cluster.openWriter();
  await writer.append(
    Array.from({ length: count }, (_, at) => ({
      topic: deadLetterTopic('orders'),
      partition,
      key: null,
      value: Buffer.from('v'),
      headers: deadLetterHeaders({
        headers: [],
        origin: { topic: 'orders', partition, offset: BigInt(at) },
        fields: { job: 'j', handler: 'h', class: 'data' },
        error,
      }),
    })),
  );
  await writer.close();
}

async function look(): Promise<GroupedLetters> {
  const answer = await index.of('orders');
  if (answer.kind !== 'grouped') throw new Error(answer.kind);
  return answer.letters;
}

const counts = ({ groups }: GroupedLetters) => groups.map(({ error, count }) => [error, count]);

it('counts what is there, and later only what came since', async () => {
  await write(3);
  await write(2, 1, 'worse');
  expect(counts(await look())).toEqual([
    ['bad', 3],
    ['worse', 2],
  ]);
  await write(2, 1, 'worse');
  expect(counts(await look())).toEqual([
    ['worse', 4],
    ['bad', 3],
  ]);
  expect(await look()).toMatchObject({ offsetsPassed: 7n, offsetsTotal: 7n, others: 0, cutShort: [] });
});

it('a look is bounded in time, and the next one goes on', async () => {
  await write(5);
  const slow = createLetterIndex({ cluster }, () => {
    nowMs += 150;
    return nowMs;
  });
  const passed: bigint[] = [];
  for (let looks = 0; looks < 10 && passed.at(-1) !== 5n; looks += 1) {
    const answer = await slow.of('orders');
    if (answer.kind === 'grouped') passed.push(answer.letters.offsetsPassed);
  }
  expect(passed.length).toBeGreaterThan(1);
  expect(passed.at(-1)).toBe(5n);
});

it('begins anew when retention took what was counted, and when the topic is another one', async () => {
  await write(4);
  await look();
  const letters = await cluster.catalog.describe(deadLetterTopic('orders'));
  if (letters === undefined) throw new Error('no letters');
  const source = { topic: letters.topic, topicId: letters.topicId, partition: 0 };
  await cluster.catalog.deleteRecordsBefore(source, toOffset(3));
  expect(counts(await look())).toEqual([['bad', 1]]);
  cluster.deleteTopic(deadLetterTopic('orders'));
  expect(await index.of('orders')).toEqual({ kind: 'no letters' });
  cluster.createTopic(deadLetterTopic('orders'), { partitionCount: 2 });
  await write(2);
  expect(counts(await look())).toEqual([['bad', 2]]);
});

it('those who ask at once share a look, and a topic that is not there is told', async () => {
  await write(1);
  expect(index.of('orders')).toBe(index.of('orders'));
  expect(await index.of('nobody')).toEqual({ kind: 'unknown topic' });
});

it('texts of others are cut before they are kept', async () => {
  const writer = await cluster.openWriter();
  const headers = deadLetterHeaders({
    headers: [],
    origin: { topic: 'orders', partition: 0, offset: 0n },
    fields: { job: 'j'.repeat(100_000), handler: 'h', class: 'data' },
    error: 'bad',
  });
  await writer.append([{ topic: deadLetterTopic('orders'), partition: 0, key: null, value: null, headers }]);
  await writer.close();
  expect((await look()).groups[0]?.jobId.length).toBeLessThan(1_000);
});
