import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { floorStoreContract } from './floor-store.contract.ts';
import { createMemoryFloorStore, type MemoryFloorStore } from './memory-floor-store.ts';

floorStoreContract('in memory', async () => createMemoryFloorStore({ now: Date.now }));

const place = { topic: 'orders', topicId: 'id', partition: 0 };

async function filled(): Promise<MemoryFloorStore> {
  const store = createMemoryFloorStore({ now: () => 0 });
  await store.withhold({ place, life: 'one' });
  const incarnation = await store.incarnation();
  await store.install({ place, life: 'one', incarnation, mark: toOffset(4n), floors: [] });
  return store;
}

it('is incomplete in another life of the store, and cannot be finished for the one before', async () => {
  const store = await filled();
  const before = await store.incarnation();
  store.restart();
  expect(await store.look(place)).toBeUndefined();
  await store.withhold({ place, life: 'two' });
  const filling = { place, life: 'two', mark: toOffset(0n), floors: [] };
  expect(await store.install({ ...filling, incarnation: before })).toEqual({ kind: 'superseded' });
  expect(await store.install({ ...filling, incarnation: await store.incarnation() })).toEqual({ kind: 'installed' });
});

it('comes back older from a dump, as another life', async () => {
  const store = await filled();
  const rollBack = store.save();
  await store.propose({ place, life: 'one', target: toOffset(9n), required: [] });
  rollBack();
  expect(await store.look(place)).toBeUndefined();
  expect(await store.holdsMark({ place, life: 'one', mark: toOffset(4n) })).toBe(false);
  store.loseEverything();
  expect(await store.withhold({ place, life: 'two' })).toEqual({ kind: 'withheld' });
});
