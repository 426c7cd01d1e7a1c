import { type Offset, toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { fillPlaces } from './fill-places.ts';
import type { FloorPlace } from './floor-ports.ts';
import { createMemoryFloorStore } from './testing/memory-floor-store.ts';

const place: FloorPlace = { topic: 'orders', topicId: 'id', partition: 0 };
const other: FloorPlace = { ...place, partition: 1 };
const marked = (offset: bigint) => async () => (): Offset => toOffset(offset);
const needs = (floors: Record<string, bigint>) => async () => () =>
  Object.entries(floors).map(([holder, offset]) => ({ holder, offset: toOffset(offset) }));

it('fills what is incomplete, and leaves what is complete', async () => {
  const store = createMemoryFloorStore({ now: () => 0 });
  const first = { places: [place], life: 'one', readMarks: marked(5n), readFloors: needs({ job: 7n, low: 4n }) };
  expect(await fillPlaces(store, first)).toEqual({ filled: [place], superseded: [] });
  const second = { places: [place, other], life: 'two', readMarks: marked(1n), readFloors: needs({}) };
  expect(await fillPlaces(store, second)).toEqual({ filled: [other], superseded: [] });
  expect(await store.look(place)).toEqual({
    life: 'one',
    mark: 5n,
    floors: [
      { holder: 'job', offset: 7n, reservedUntilMs: undefined },
      { holder: 'low', offset: 4n, reservedUntilMs: undefined },
    ],
  });
});

it('reads the marks when no guard can get one any more', async () => {
  const store = createMemoryFloorStore({ now: () => 0 });
  await fillPlaces(store, { places: [place], life: 'one', readMarks: marked(0n), readFloors: needs({}) });
  store.restart();
  let durable = 0n;
  await fillPlaces(store, {
    places: [place],
    life: 'two',
    readMarks: async () => {
      const late = await store.propose({ place, life: 'one', target: toOffset(9n), required: [] });
      expect(late).toEqual({ kind: 'incomplete' });
      expect(await store.holdsMark({ place, life: 'one', mark: toOffset(0n) })).toBe(false);
      durable = 3n;
      return () => toOffset(durable);
    },
    readFloors: needs({}),
  });
  expect((await store.look(place))?.mark).toBe(3n);
});

it.each([
  ['emptied', (store: ReturnType<typeof createMemoryFloorStore>) => store.loseEverything()],
  ['restarted', (store: ReturnType<typeof createMemoryFloorStore>) => store.restart()],
])('says so when the store is %s before it is finished, and the place stays incomplete', async (_, happen) => {
  const store = createMemoryFloorStore({ now: () => 0 });
  const filling = {
    places: [place],
    life: 'one',
    readMarks: async () => {
      happen(store);
      return () => toOffset(0n);
    },
    readFloors: needs({}),
  };
  expect(await fillPlaces(store, filling)).toEqual({ filled: [], superseded: [place] });
  expect(await store.look(place)).toBeUndefined();
});
