import { createMemoryCodec } from '@tidemark/contracts/testing';
import type { FloorPlace } from '@tidemark/cursors';
import { createMemoryFloorStore } from '@tidemark/cursors/testing';
import { jobTopics } from '@tidemark/jobs';
import { createMarkLog } from '@tidemark/jobs/kafka';
import { toOffset } from '@tidemark/keyspace';
import { createMemoryCluster } from '@tidemark/log/testing';
import { expect, it } from 'vitest';
import { lookAfterFloors } from './floor-check.ts';
import { createFloorKeeper } from './floor-keeper.ts';

const NAMESPACE = 'test';
const place: FloorPlace = { topic: 'orders', topicId: 'an-id', partition: 0 };
const need = { place, offset: toOffset(5n) };

/** One accepted job, `held`, that needs offset 5, in a store that is filled. */
async function filledPlace() {
  const cluster = createMemoryCluster();
  const store = createMemoryFloorStore({ now: () => 0 });
  const marks = createMarkLog({ cluster, codec: createMemoryCodec(), namespace: NAMESPACE });
  await marks.ensure(1);
  let loads = 0;
  let lives = 0;
  let isReplaced = false;
  const keeper = createFloorKeeper({
    store,
    loadMarks: (options) => {
      loads += 1;
      return marks.load(options);
    },
    readFloors: async () => () => [{ holder: 'held', offset: need.offset }],
    // Whoever was replaced a moment ago has a proof that is younger than what is trusted.
    prove: async (trustMs = 1_000) => {
      if (isReplaced && trustMs === 0) throw new Error('replaced');
    },
    newLife: () => {
      lives += 1;
      return `life-${lives}`;
    },
  });
  await keeper.fill([place]);
  await keeper.raise('held', { acknowledged: need, stored: need.offset });
  loads = 0;
  const check = () =>
    lookAfterFloors({
      look: (at) => store.look(at),
      keeper,
      places: [place],
      needs: () => [{ holder: 'held', needs: [need] }],
      isOver: (holder) => holder === 'over',
    });
  /** As a guard that was killed while it committed. */
  const leaveOpen = () => {
    const transaction = cluster.begin();
    const topic = jobTopics(NAMESPACE).marks;
    transaction.append([{ topic, partition: 0, key: Buffer.from('a mark'), value: Buffer.from('never read') }]);
    return transaction;
  };
  const replace = (): void => {
    isReplaced = true;
  };
  return { store, keeper, check, leaveOpen, replace, loads: () => loads };
}

it('asks only the store while every place is complete, so an open transaction of a guard holds nothing up', async () => {
  const { check, leaveOpen, loads } = await filledPlace();
  leaveOpen();
  expect(await check()).toEqual({ kind: 'checked', filled: 0, restored: 0, dropped: 0, ahead: [] });
  expect(loads()).toBe(0);
});

it('comes again for a place that cannot be filled because an open transaction holds the marks back', async () => {
  const { store, keeper, check, leaveOpen } = await filledPlace();
  const transaction = leaveOpen();
  store.loseEverything();
  expect(await keeper.raise('held', { acknowledged: { place, offset: toOffset(6n) }, stored: toOffset(6n) })).toEqual({
    kind: 'incomplete',
  });
  expect(await check()).toEqual({ kind: 'held back' });
  expect(await store.look(place)).toBeUndefined();
  transaction.abort();
  expect(await check()).toEqual({ kind: 'checked', filled: 1, restored: 0, dropped: 0, ahead: [] });
  expect((await store.look(place))?.floors).toMatchObject([{ holder: 'held', offset: 5n }]);
});

it('puts back a floor that somebody removed, also when its job does not get on', async () => {
  const { store, keeper, check } = await filledPlace();
  await store.drop({ place, holder: 'held' });
  // The keeper believes that it is there.
  await keeper.raise('held', { acknowledged: need, stored: need.offset });
  expect((await store.look(place))?.floors).toEqual([]);
  expect(await check()).toEqual({ kind: 'checked', filled: 0, restored: 1, dropped: 0, ahead: [] });
  expect((await store.look(place))?.floors).toMatchObject([{ holder: 'held', offset: 5n, reservedUntilMs: undefined }]);
});

it('drops the floor that somebody put back of what is over, unless it was replaced itself', async () => {
  const { store, check, replace } = await filledPlace();
  const holders = async () => (await store.look(place))?.floors.map(({ holder }) => holder);
  const left = { place, holder: 'over', offset: toOffset(2n), wasConfirmed: true };
  await store.confirm(left);
  await store.confirm({ ...left, holder: 'of-nobody' });
  await store.reserve({ place, holder: 'asked-anew', offset: toOffset(9n), ttlMs: 60_000 });
  expect(await check()).toEqual({ kind: 'checked', filled: 0, restored: 0, dropped: 1, ahead: [] });
  expect(await holders()).toEqual(expect.not.arrayContaining(['over']));
  expect(await holders()).toEqual(expect.arrayContaining(['held', 'of-nobody', 'asked-anew']));
  await store.confirm(left);
  replace();
  await expect(check()).rejects.toThrow('replaced');
  expect(await holders()).toContain('over');
});

it('names a floor that somebody raised above what is needed', async () => {
  const { store, check } = await filledPlace();
  await store.raise({ place, holder: 'held', to: toOffset(6n) });
  expect(await check()).toMatchObject({ kind: 'checked', restored: 0, ahead: [{ holder: 'held', place }] });
});
