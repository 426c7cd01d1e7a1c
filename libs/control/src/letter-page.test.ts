import type { TopicDescription } from '@tidemark/log';
import { createMemoryCluster, type MemoryCluster } from '@tidemark/log/testing';
import fc from 'fast-check';
import { beforeEach, expect, it } from 'vitest';
import { type LetterPage, type LetterPageQuestion, letterPage } from './letter-page.ts';
import { writeLetters } from './testing/letters.ts';

let cluster: MemoryCluster;
let letters: TopicDescription;

const NO_LIMIT = { lettersMax: 1_000, offsetsMax: 1_000_000n, timeMs: Number.POSITIVE_INFINITY };

beforeEach(async () => {
  cluster = createMemoryCluster();
  letters = await writeLetters(
    cluster,
    Array.from({ length: 23 }, (_, offset) => ({
      offset,
      partition: offset % 3 === 0 ? 1 : 0,
      key: `k${offset}`,
      job: offset % 2 === 0 ? 'even' : 'odd',
      faultClass: offset % 5 === 0 ? 'timeout' : 'data',
    })),
  );
});

const look = (question: Partial<LetterPageQuestion>): Promise<LetterPage<string>> =>
  letterPage(cluster, letters, { filter: {}, ...NO_LIMIT, ...question }, ({ record }) => `${record.key}`);

/** All pages, one after the other, as somebody turns them. */
async function turned(question: Partial<LetterPageQuestion>): Promise<readonly LetterPage<string>[]> {
  const pages = [await look(question)];
  for (let turns = 0; turns < 100; turns += 1) {
    const next = pages.at(-1)?.next;
    if (next === undefined) return pages;
    pages.push(await look({ ...question, from: next }));
  }
  throw new Error('the pages have no end');
}

const ALL = Array.from({ length: 23 }, (_, offset) => offset);
const IN_ORDER = [...ALL.filter((offset) => offset % 3 !== 0), ...ALL.filter((offset) => offset % 3 === 0)].map(
  (offset) => `k${offset}`,
);

it('every letter is on one page, in the order of the log, whatever the bounds of a page are', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 25 }),
      fc.bigInt({ min: 1n, max: 30n }),
      // A clock that moves with each look at it: a page may end after any record.
      fc.integer({ min: 1, max: 20 }),
      async (lettersMax, offsetsMax, looks) => {
        let nowMs = 0;
        const now = () => {
          nowMs += 1;
          return nowMs;
        };
        const pages = await turned({ lettersMax, offsetsMax, timeMs: looks, now });
        expect(pages.flatMap(({ letters: found }) => found)).toEqual(IN_ORDER);
        for (const page of pages) expect(page.letters.length).toBeLessThanOrEqual(lettersMax);
        const passed = pages.map((page) => page.passed);
        expect(passed).toEqual([...passed].sort((a, b) => Number(a - b)));
        expect(pages.at(-1)).toMatchObject({ passed: 23n, total: 23n });
      },
    ),
    { numRuns: 200 },
  );
});

it('finds by job, class, partition and key, and says how far it looked for what is not there', async () => {
  const found = async (filter: LetterPageQuestion['filter']) => (await look({ filter })).letters;
  expect(await found({ jobId: 'odd', faultClass: 'timeout' })).toEqual(['k5', 'k15']);
  expect(await found({ partition: 1, jobId: 'odd' })).toEqual(['k3', 'k9', 'k15', 'k21']);
  expect(await found({ key: Buffer.from('k7') })).toEqual(['k7']);
  const [first, ...others] = await turned({ filter: { key: Buffer.from('nobody') }, offsetsMax: 10n });
  expect(first).toMatchObject({ letters: [], passed: 10n, total: 23n, next: { partition: 0, offset: 10n } });
  expect(others.map(({ passed }) => passed)).toEqual([20n, 23n]);
});

it('a place that is not there any more, or not yet, is no fault', async () => {
  expect((await look({ from: { partition: 0, offset: 1_000n } })).letters).toEqual(IN_ORDER.slice(-8));
  expect(await look({ from: { partition: 9, offset: 0n } })).toMatchObject({ letters: [], next: undefined });
});
