/** The judge is proved on runs written by hand: a right one passes, and each wrong one is told for what it is. */
import { expect, it } from 'vitest';
import { countInversions, type Evidence, judge, type TrueRow } from './verdict.ts';

function trueRow(row: Partial<TrueRow> & { readonly id: string }): TrueRow {
  return { topic: 'items', key: 'a', txid: 1n, n: 1, isLast: true, image: '1', ...row };
}

/** Key a: 1, 2 (told twice within its statement), gone. Key b: 9. */
const TRUTH = [
  trueRow({ id: 'a1', txid: 5n, n: 1, image: '1' }),
  trueRow({ id: 'a2 early', txid: 4n, n: 2, isLast: false, image: '2' }),
  trueRow({ id: 'a2', txid: 4n, n: 2, image: '2' }),
  trueRow({ id: 'a3', txid: 6n, n: 3, image: null }),
  trueRow({ id: 'b1', txid: 6n, key: 'b', image: '9' }),
];
const PAYLOADS: Readonly<Record<string, string | null>> = { a1: '1', 'a2 early': '1.5', a2: '2', a3: null, b1: '9' };
const IN_ORDER = ['a1', 'b1', 'a2 early', 'a2', 'a3'];

interface Changed extends Partial<Pick<Evidence, 'requests' | 'waited'>> {
  readonly payloads?: object;
  readonly standing?: string;
  /** Rows that came at once with the one before them. */
  readonly atOnce?: readonly string[];
  /** Rows that are in partition 1, and not 0. */
  readonly elsewhere?: readonly string[];
}

function judged(ids: readonly string[], changed: Changed = {}) {
  const payloads = { ...PAYLOADS, ...changed.payloads };
  const { requests = [], waited, atOnce = [], elsewhere = [] } = changed;
  const delivered = ids.map((id, index) => ({
    id,
    topic: 'items',
    key: id.slice(0, 1),
    payload: payloads[id] ?? null,
    place: atOnce.includes(id) ? index - 1 : index,
    partition: elsewhere.includes(id) ? 1 : 0,
  }));
  const standing = [{ topic: 'items', key: 'b', image: changed.standing ?? '9' }];
  return judge({ truth: TRUTH, delivered, standing, capturedTopics: ['items'], requests, waited });
}

const kinds = (faults: ReturnType<typeof judge>) => faults.map(({ kind }) => kind);

it('a run in the order of the locks is right, whatever the keys do between each other', () => {
  expect(judged(IN_ORDER)).toEqual([]);
  expect(judged(['b1', ...IN_ORDER.filter((id) => id !== 'b1')])).toEqual([]);
});

it('a row that was never delivered, delivered twice, or never committed', () => {
  expect(judged(IN_ORDER.filter((id) => id !== 'a1'))).toEqual([
    { kind: 'lost', text: 'items/a number 1 of transaction 5 was never delivered' },
  ]);
  expect(kinds(judged(['a1', ...IN_ORDER]))).toEqual(['repeated']);
  expect(kinds(judged(['a1', 'b1', 'a2 early', 'a2', 'a1', 'a3']))).toEqual(['repeated', 'overtaken']);
  expect(kinds(judged(['a0', ...IN_ORDER], { payloads: { a0: '0' } }))).toEqual(['never committed']);
});

it('a row that came after its successor, also within one statement', () => {
  expect(judged(['a2 early', 'a2', 'a1', 'b1', 'a3'])).toEqual([
    { kind: 'overtaken', text: 'items/a number 1 of transaction 5 came after 2 of 4' },
  ]);
  expect(kinds(judged(['a1', 'a2', 'a2 early', 'b1', 'a3']))).toEqual(['overtaken']);
});

it('a row that was told otherwise than it was, and one that has changed without an event', () => {
  expect(judged(IN_ORDER, { payloads: { a2: '1.5' } })).toEqual([
    { kind: 'stale', text: 'items/a was told as 1.5, and the row was 2' },
  ]);
  expect(kinds(judged(IN_ORDER, { payloads: { a3: '2' } }))).toEqual(['stale', 'stale']);
  expect(judged(IN_ORDER, { standing: '10' })).toEqual([
    { kind: 'stale', text: 'items/b is told as 9 and stands as 10' },
  ]);
});

it('a key in two partitions', () => {
  expect(judged(IN_ORDER, { elsewhere: ['b1'] })).toEqual([]);
  expect(judged(IN_ORDER, { elsewhere: ['a3'] })).toEqual([
    { kind: 'moved', text: 'items/a is in partitions 0 and 1' },
  ]);
});

it('a request that was told before a row that was committed before it, unless that row was known to wait', () => {
  const requests = [{ id: 'b1', covers: ['a1', 'a2 early'] }];
  expect(kinds(judged(IN_ORDER, { requests }))).toEqual(['request too early']);
  expect(judged(IN_ORDER, { requests, atOnce: ['a2 early'] })).toEqual([]);
  const waited: Evidence['waited'] = (row, place) => row.id === 'a2 early' && place === 1;
  expect(judged(IN_ORDER, { requests, waited })).toEqual([]);
});

it('counts the pairs of a key whose ids are not in the order of its locks', () => {
  expect(countInversions(TRUTH)).toBe(1);
  expect(countInversions(TRUTH.filter(({ n }) => n !== 2))).toBe(0);
});
