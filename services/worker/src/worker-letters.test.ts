/** Redrives by whole workers, on the in-memory log and store: what is handed over of dead letters, in what order, and how often. */
import { done, type Outcome, type RawHandler } from '@tidemark/handlers';
import { deadLetterFacts, editedHeaders, LetterParameter, newestText } from '@tidemark/jobs';
import { TidemarkError } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { type MemoryBench, memoryBench } from './testing/memory-worker.ts';
import { numbers, recordingHandler } from './testing/recording-handler.ts';
import { recordsOf } from './testing/records-of.ts';

const bad = (): never => {
  throw new TidemarkError({ code: 'BAD', class: 'data', message: 'no such user' });
};

/** Letters of all records, which differ in nothing but their values. */
async function buried(values: readonly (string | { readonly key: string | null; readonly value: string })[]) {
  const bench = memoryBench();
  bench.cluster.createTopic('t');
  await bench.append('t', values);
  const { handler } = recordingHandler(bad);
  const job = await bench.install({ topic: 't', handler: handler.name });
  const worker = await bench.work([handler]);
  await job.closed();
  await worker.stop('buried');
  return bench;
}

/** What the handler got, as `key offset=value`. */
async function redriven(
  bench: MemoryBench,
  parameters: Readonly<Record<string, string>>,
  answer: () => Outcome = done,
): Promise<readonly string[]> {
  const seen: string[] = [];
  const handler: RawHandler = recordingHandler(({ topic, key, offset, value }) => {
    seen.push(`${topic} ${key} ${offset}=${value}`);
    return answer();
  }).handler;
  const job = await bench.install({ topic: 't.dlq', handler: handler.name, ordering: 'key', parameters });
  const worker = await bench.work([handler]);
  await job.closed();
  await worker.stop('over');
  return seen;
}

/** Corrects the letter at an offset of the archive, as `tidemark deadletter edit` does. */
async function correct(bench: MemoryBench, offset: number, value: string): Promise<void> {
  const letter = (await recordsOf(bench.cluster, 't.dlq'))[offset];
  if (letter === undefined) throw new Error(`no letter ${offset}`);
  const number = (deadLetterFacts(letter.headers)?.edit ?? 0) + 1;
  const headers = editedHeaders(letter.headers, {
    number,
    of: { partition: 0, offset: letter.offset },
    by: 'me',
    note: '',
  });
  const writer = await bench.cluster.openWriter();
  await writer.append([{ topic: 't.dlq', partition: 0, key: letter.key, value: Buffer.from(value), headers }]);
  await writer.close();
}

/** The letters that count, by record, as `tidemark deadletter redrive` says it. */
const newest = (of: Readonly<Record<string, bigint>>) => ({
  [LetterParameter.newest]: newestText(new Map(Object.entries(of).map(([place, offset]) => [place, [offset]]))),
});

it('takes the corrected copy in the place of its letter, as the record that it is of', async () => {
  const bench = await buried([
    { key: 'a', value: '0' },
    { key: 'b', value: '1' },
  ]);
  await correct(bench, 1, 'one');
  expect(await redriven(bench, newest({ '0:1': 2n }))).toEqual(['t a 0=0', 't b 1=one']);
});

it('F5: a record that fails in twenty rounds has twenty letters, of constant size, all of the correction that was made', async () => {
  const bench = await buried(['0']);
  await correct(bench, 0, 'zero');
  for (let round = 2; round <= 20; round += 1) await redriven(bench, newest({ '0:0': BigInt(round - 1) }), bad);
  const letters = await recordsOf(bench.cluster, 't.dlq');
  const [, ...facts] = letters.map(({ headers }) => deadLetterFacts(headers));
  expect(facts.map((letter) => letter?.round)).toEqual(numbers(1, 20));
  expect(facts.map((letter) => letter?.edit)).toEqual(numbers(1, 20).map(() => 1));
  expect(letters.slice(1).map(({ value }) => String(value))).toEqual(numbers(1, 20).map(() => 'zero'));
  expect(new Set(letters.slice(3).map(({ headers }) => headers.length)).size).toBe(1);
});

it('keeps the order of a key, in which its records were dead-lettered', async () => {
  const bench = await buried(['a0', 'b0', 'a1', 'b1', 'a2'].map((value) => ({ key: value.slice(0, 1), value })));
  const seen = await redriven(bench, {});
  expect(seen.filter((line) => line.startsWith('t a'))).toEqual(['t a 0=a0', 't a 2=a1', 't a 4=a2']);
});
