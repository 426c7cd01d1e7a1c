import { samplePin, sampleRequest, sampleState } from '@tidemark/jobs/testing';
import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { needsOf } from './needs.ts';

const state = sampleState({
  request: sampleRequest({ topic: 'orders' }),
  pin: samplePin([
    [-1n, 99n],
    [4n, 4n],
    [9n, 49n],
  ]),
});
const range = (partition: number, cursor: bigint, status = 'open', parked: readonly bigint[] = []) => ({
  partition,
  cursor: toOffset(cursor),
  status,
  parked: parked.map((offset) => ({ offset: toOffset(offset) })),
});
const offsets = (ranges: readonly ReturnType<typeof range>[]) =>
  needsOf(state, ranges).map(({ place, offset }) => [place.partition, offset]);

it('needs the offset after the lowest cursor of an open range, and nothing of an empty window', () => {
  expect(offsets([range(0, 19n), range(0, 9n), range(2, 9n)])).toEqual([
    [0, 10n],
    [2, 10n],
  ]);
});

it('needs nothing for ranges that are done or stopped: the floor is behind the window', () => {
  expect(offsets([range(0, 49n, 'done'), range(0, 59n, 'stopped'), range(2, 49n, 'done')])).toEqual([
    [0, 100n],
    [2, 50n],
  ]);
  expect(offsets([range(0, 49n, 'done'), range(0, 59n), range(2, 20n)])).toEqual([
    [0, 60n],
    [2, 21n],
  ]);
});

it('needs the lowest parked record of an open range, however far the cursors are', () => {
  expect(offsets([range(0, 19n, 'open', [7n, 12n]), range(0, 30n), range(2, 9n)])).toEqual([
    [0, 7n],
    [2, 10n],
  ]);
  expect(offsets([range(0, 99n, 'open', [98n]), range(2, 49n, 'stopped', [12n])])).toEqual([
    [0, 98n],
    [2, 50n],
  ]);
});

it('needs the whole window when no range is known', () => {
  expect(offsets([])).toEqual([
    [0, 0n],
    [2, 10n],
  ]);
});

it('names the places of the incarnation that was pinned, and none before a pin', () => {
  expect(needsOf(state, [])[0]?.place).toEqual({ topic: 'orders', topicId: 'topic-id-1', partition: 0 });
  expect(needsOf(sampleState({ pin: null }), [])).toEqual([]);
});
