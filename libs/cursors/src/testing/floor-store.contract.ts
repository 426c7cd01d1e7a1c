/** What every store of floors must do. Run by the one in Redis and by its twin in memory. */
import { type Offset, toOffset } from '@tidemark/keyspace';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FloorPlace, FloorStore } from '../floor-ports.ts';
import { FOR_LONG_MS } from './sample-jobs.ts';

const BEYOND_DOUBLE = 2n ** 53n;
const offset = (value: bigint): Offset => toOffset(value);

export function floorStoreContract(name: string, create: () => Promise<FloorStore>): void {
  describe(`${name}: the contract of a store of floors`, () => {
    let store: FloorStore;
    let places = 0;
    beforeAll(async () => {
      store = await create();
    });
    afterAll(async () => store.close());

    const newPlace = (): FloorPlace => {
      places += 1;
      return { topic: 'orders', topicId: `id-${places}`, partition: places % 3 };
    };
    const fill = async (
      place: FloorPlace,
      options: { life?: string; mark?: bigint; floors?: Record<string, bigint> } = {},
    ) => {
      const { life = 'life-1', mark = 0n, floors = {} } = options;
      const incarnation = await store.incarnation();
      expect(await store.withhold({ place, life })).toEqual({ kind: 'withheld' });
      return store.install({
        place,
        life,
        incarnation,
        mark: offset(mark),
        floors: Object.entries(floors).map(([holder, at]) => ({ holder, offset: offset(at) })),
      });
    };
    const filled = async (options: Parameters<typeof fill>[1] = {}): Promise<FloorPlace> => {
      const place = newPlace();
      expect(await fill(place, options)).toEqual({ kind: 'installed' });
      return place;
    };
    const reserve = (place: FloorPlace, holder: string, at: bigint, ttlMs = FOR_LONG_MS) =>
      store.reserve({ place, holder, offset: offset(at), ttlMs });
    const confirm = (place: FloorPlace, holder: string, at: bigint, wasConfirmed = false) =>
      store.confirm({ place, holder, offset: offset(at), wasConfirmed });
    const propose = (place: FloorPlace, target: bigint, required: readonly string[] = [], life = 'life-1') =>
      store.propose({ place, life, target: offset(target), required });
    const floorsOf = async (place: FloorPlace) =>
      Object.fromEntries((await store.look(place))?.floors.map(({ holder, offset: at }) => [holder, at]) ?? []);

    it('answers incomplete to everything until the place is filled, and again while it is withheld', async () => {
      const place = newPlace();
      const all = async () => [
        await reserve(place, 'job', 5n),
        await confirm(place, 'job', 5n),
        await store.raise({ place, holder: 'job', to: offset(5n) }),
        await store.drop({ place, holder: 'job' }),
        await propose(place, 5n),
      ];
      const nothing = Array.from({ length: 5 }, () => ({ kind: 'incomplete' }));
      expect(await all()).toEqual(nothing);
      expect(await store.holdsMark({ place, life: 'life-1', mark: offset(0n) })).toBe(false);
      expect(await store.look(place)).toBeUndefined();
      await store.withhold({ place, life: 'life-1' });
      expect(await all()).toEqual(nothing);
      expect(await store.look(place)).toBeUndefined();
    });

    it('is filled with floors that stay and the mark, once, by whoever withheld it last', async () => {
      const place = newPlace();
      const incarnation = await store.incarnation();
      const install = (life: string, at: bigint) =>
        store.install({ place, life, incarnation, mark: offset(at), floors: [{ holder: life, offset: offset(at) }] });
      expect(await install('nobody', 1n)).toEqual({ kind: 'superseded' });
      await store.withhold({ place, life: 'earlier' });
      await store.withhold({ place, life: 'later' });
      expect(await install('earlier', 1n)).toEqual({ kind: 'superseded' });
      expect(await install('later', 2n)).toEqual({ kind: 'installed' });
      expect(await install('later', 3n)).toEqual({ kind: 'installed' }); // a repeat, not another filling
      expect(await store.look(place)).toEqual({
        life: 'later',
        mark: 2n,
        floors: [{ holder: 'later', offset: 2n, reservedUntilMs: undefined }],
      });
      expect(await store.withhold({ place, life: 'third' })).toEqual({ kind: 'complete' });
    });

    it('refuses to be filled for another life of the store', async () => {
      const place = newPlace();
      await store.withhold({ place, life: 'life-1' });
      const elsewhere = { place, life: 'life-1', incarnation: `${'0'.repeat(40)}:x`, mark: offset(0n), floors: [] };
      expect(await store.install(elsewhere)).toEqual({ kind: 'superseded' });
    });

    it('reserves at or above the mark, and keeps the lower one of what the holder has', async () => {
      const place = await filled({ mark: 10n });
      expect(await reserve(place, 'job', 9n)).toEqual({ kind: 'below mark', mark: 10n });
      expect(await reserve(place, 'job', 12n)).toEqual({ kind: 'reserved', floor: 12n });
      expect(await reserve(place, 'job', 15n)).toEqual({ kind: 'reserved', floor: 12n });
      expect(await reserve(place, 'job', 10n)).toEqual({ kind: 'reserved', floor: 10n });
      expect(await reserve(place, 'job', 9n)).toEqual({ kind: 'below mark', mark: 10n });
      expect((await store.look(place))?.floors).toEqual([
        { holder: 'job', offset: 10n, reservedUntilMs: expect.any(Number) },
      ]);
    });

    it('never turns a floor that stays back into a reservation', async () => {
      const place = await filled({ floors: { job: 20n } });
      expect(await reserve(place, 'job', 30n)).toEqual({ kind: 'reserved', floor: 20n });
      expect(await reserve(place, 'job', 5n, 0)).toEqual({ kind: 'reserved', floor: 5n });
      expect((await store.look(place))?.floors).toEqual([{ holder: 'job', offset: 5n, reservedUntilMs: undefined }]);
    });

    it('confirms a reservation that is still there, also when it ran out', async () => {
      const place = await filled();
      await reserve(place, 'job', 7n, 0);
      expect(await confirm(place, 'job', 8n)).toEqual({ kind: 'confirmed', floor: 7n });
      expect(await propose(place, 100n)).toEqual({ kind: 'proposed', mark: 7n });
      expect(await confirm(place, 'job', 8n)).toEqual({ kind: 'confirmed', floor: 7n });
    });

    it('registers anew a reservation that was passed, if the mark allows', async () => {
      const place = await filled();
      await reserve(place, 'late', 7n, 0);
      await reserve(place, 'later', 30n, 0);
      await nextMillisecond();
      expect(await propose(place, 20n)).toEqual({ kind: 'proposed', mark: 20n });
      expect(await floorsOf(place)).toEqual({});
      expect(await confirm(place, 'late', 7n)).toEqual({ kind: 'below mark', mark: 20n });
      expect(await confirm(place, 'later', 30n)).toEqual({ kind: 'confirmed', floor: 30n });
    });

    it('puts a floor back that was confirmed before, and proposes nothing until it has passed the mark', async () => {
      const place = await filled({ mark: 20n });
      expect(await confirm(place, 'job', 7n)).toEqual({ kind: 'below mark', mark: 20n });
      expect(await confirm(place, 'job', 7n, true)).toEqual({ kind: 'confirmed', floor: 7n });
      expect(await propose(place, 100n)).toEqual({ kind: 'held', floor: 7n });
      expect(await reserve(place, 'other', 19n)).toEqual({ kind: 'below mark', mark: 20n });
      await store.raise({ place, holder: 'job', to: offset(20n) });
      expect(await propose(place, 10n)).toEqual({ kind: 'proposed', mark: 20n });
      await store.raise({ place, holder: 'job', to: offset(21n) });
      expect(await propose(place, 100n)).toEqual({ kind: 'proposed', mark: 21n });
      const restored = await filled({ mark: 20n, floors: { job: 7n } });
      expect(await propose(restored, 100n)).toEqual({ kind: 'held', floor: 7n });
    });

    it('raises a floor and never lowers it', async () => {
      const place = await filled({ floors: { job: 5n } });
      const raise = (holder: string, to: bigint) => store.raise({ place, holder, to: offset(to) });
      expect(await raise('job', 9n)).toEqual({ kind: 'raised', floor: 9n });
      expect(await raise('job', 6n)).toEqual({ kind: 'raised', floor: 9n });
      expect(await raise('other', 6n)).toEqual({ kind: 'unknown holder' });
      await reserve(place, 'reserved', 3n);
      expect(await raise('reserved', 4n)).toEqual({ kind: 'raised', floor: 4n });
      expect((await store.look(place))?.floors[1]).toEqual({
        holder: 'reserved',
        offset: 4n,
        reservedUntilMs: expect.any(Number),
      });
    });

    it('proposes the lowest of all floors and the target, and never lowers the mark', async () => {
      const place = await filled({ floors: { a: 50n, b: 40n } });
      await reserve(place, 'c', 30n);
      expect(await propose(place, 10n)).toEqual({ kind: 'proposed', mark: 10n });
      expect(await propose(place, 100n)).toEqual({ kind: 'proposed', mark: 30n });
      expect(await propose(place, 5n)).toEqual({ kind: 'proposed', mark: 30n });
      await store.drop({ place, holder: 'c' });
      await store.drop({ place, holder: 'c' });
      expect(await propose(place, 100n)).toEqual({ kind: 'proposed', mark: 40n });
      await store.drop({ place, holder: 'b' });
      await store.raise({ place, holder: 'a', to: offset(BEYOND_DOUBLE + 3n) });
      expect(await propose(place, BEYOND_DOUBLE + 5n)).toEqual({ kind: 'proposed', mark: BEYOND_DOUBLE + 3n });
      expect((await store.look(place))?.mark).toBe(BEYOND_DOUBLE + 3n);
    });

    it('proposes nothing while somebody who must have a floor has none, and holds what is reserved for him', async () => {
      const place = await filled({ floors: { a: 50n } });
      expect(await propose(place, 60n, ['a', 'b', 'c'])).toEqual({ kind: 'missing', holders: ['b', 'c'] });
      expect((await store.look(place))?.mark).toBe(0n);
      await reserve(place, 'b', 20n, 0);
      await nextMillisecond();
      expect(await propose(place, 60n, ['a', 'b'])).toEqual({ kind: 'proposed', mark: 20n });
      expect(await floorsOf(place)).toEqual({ a: 50n, b: 20n });
    });

    it('answers a proposal and a question about the mark only in the life that was looked at', async () => {
      const place = await filled({ life: 'now' });
      expect(await propose(place, 9n, [], 'before')).toEqual({ kind: 'incomplete' });
      expect(await propose(place, 9n, [], 'now')).toEqual({ kind: 'proposed', mark: 9n });
      const holds = (life: string, mark: bigint) => store.holdsMark({ place, life, mark: offset(mark) });
      expect(await holds('now', 9n)).toBe(true);
      expect(await holds('now', 8n)).toBe(true);
      expect(await holds('now', 10n)).toBe(false);
      expect(await holds('before', 9n)).toBe(false);
    });

    it('keeps the partitions and the incarnations of a topic apart', async () => {
      const place = await filled({ mark: 10n, floors: { job: 10n } });
      const recreated = { ...place, topicId: 'another' };
      expect(await reserve(recreated, 'job', 20n)).toEqual({ kind: 'incomplete' });
      await fill(recreated);
      expect(await reserve(recreated, 'job', 3n)).toEqual({ kind: 'reserved', floor: 3n });
      expect(await floorsOf(place)).toEqual({ job: 10n });
    });

    it('takes jobs, audits of jobs, and series as holders, and nothing else', async () => {
      const place = await filled();
      for (const holder of ['a b', 'series:', 'series:a b', 'audit:', 'audit:series:a', 'group:a'])
        await expect(reserve(place, holder, 3n)).rejects.toMatchObject({ code: 'BAD_HOLDER' });
      expect(await reserve(place, 'series:nightly', 3n)).toEqual({ kind: 'reserved', floor: 3n });
      expect(await reserve(place, 'audit:nightly-1', 2n)).toEqual({ kind: 'reserved', floor: 2n });
      expect(await floorsOf(place)).toEqual({ 'series:nightly': 3n, 'audit:nightly-1': 2n });
    });
  });
}

/** A reservation of 0 ms has run out when the clock of the store shows a later millisecond. */
async function nextMillisecond(): Promise<void> {
  const from = Date.now();
  while (Date.now() < from + 2) await new Promise((resolve) => setImmediate(resolve));
}
