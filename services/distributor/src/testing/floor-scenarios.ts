/** Floors: reserved at the pin, confirmed when durable, raised behind checkpoints, dropped last. */
import type { LogWatch } from '@tidemark/contracts';
import type { FloorPlace, FloorStore } from '@tidemark/cursors';
import { createMarkLog } from '@tidemark/jobs/kafka';
import { type Offset, toOffset } from '@tidemark/keyspace';
import { waitFor } from '@tidemark/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Rig } from './rig.ts';
import { checkpointed, numbers, type RigOf, raise } from './scenario-looks.ts';

export function floorScenarios(where: string, rigOf: RigOf): void {
  describe(`floors (${where})`, () => {
    it('are held from the first offset of every partition that the window needs, before the job is RUNNING for workers', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(3);
      await rig.produce(topic, 0, numbers(10));
      await rig.produce(topic, 1, numbers(4));
      const { frozen, release } = await rig.startFrozenAt('job.confirmed');
      const jobId = await rig.request({ topic, from: '0:3,1:0,2:0', to: '0:9,1:9,2:9' });
      await frozen;
      expect(await rig.parts.store.snapshot(jobId)).toBeUndefined();
      expect(await floorsOf(rig, topic)).toEqual([
        [{ holder: jobId, offset: 3n }],
        [{ holder: jobId, offset: 0n }],
        [],
      ]);
      release();
      await rig.ranges(jobId);
    });

    it('P7: follow the checkpoint, not the store, and go last of all when the job ends', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      const { release } = await rig.startFrozenAt('end.keys-removed');
      const jobId = await rig.request({ topic });
      const [range] = await rig.ranges(jobId);
      if (range === undefined) return raise('no range');
      await rig.settle(jobId, range, toOffset(5));
      await checkpointed(rig, jobId, 5n);
      await floorAt(rig, topic, 6n);
      await rig.settle(jobId, range, toOffset(9));
      // The end is durable and the keys are gone while the distributor stands still; what was held is still held.
      await rig.ended(jobId);
      await waitFor('the keys to go', async () => (await rig.parts.store.snapshot(jobId)) === undefined);
      expect((await floorsOf(rig, topic))[0]).toMatchObject([{ holder: jobId }]);
      release();
      await floorsGone(rig, topic);
    });

    it('P7: the floor of a job that ended, put back by a distributor that was replaced, is dropped by its successor', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      const zombie = hesitating(rig.parts.floors);
      await rig.start({ floors: zombie.floors });
      const jobId = await rig.request({ topic });
      const series = 'nightly';
      await zombie.confirms(jobId);
      // Accepted, done and gone while the one before still means to accept it.
      await rig.start({ floorsLookEveryMs: 0 });
      await rig.createSeries(series, { topic });
      await heldBy(rig, topic, [jobId, `series:${series}`]);
      await rig.settleAll(jobId);
      await rig.ended(jobId);
      await rig.orderSeries(series, 'delete');
      await floorsGone(rig, topic);
      await zombie.goOn();
      const place = await placeOf(rig, topic);
      await rig.parts.floors.confirm({ place, holder: `series:${series}`, offset: toOffset(0), wasConfirmed: false });
      await floorsGone(rig, topic);
    });

    it('go with the job, also when it is cancelled', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(10));
      await rig.start();
      const done = await rig.request({ topic });
      await rig.settleAll(done);
      await rig.ended(done);
      const cancelled = await rig.request({ topic });
      await rig.ranges(cancelled);
      await rig.command(cancelled, 'cancel');
      await rig.ended(cancelled);
      await floorsGone(rig, topic);
    });

    it('P7: a window begins at the mark, although the log still begins before it', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(20));
      await rig.start();
      await finishOne(rig, topic);
      await propose(rig, topic, 7n);
      const earliest = await rig.state(await rig.request({ topic }), 'RUNNING');
      expect(earliest.pin?.partitions[0]).toMatchObject({ start: 6n, end: 19n, clamped: '' });
      const named = await rig.state(await rig.request({ topic, from: '0:2', to: '0:9' }), 'RUNNING');
      expect(named.pin?.partitions[0]).toMatchObject({ start: 6n, end: 9n });
      expect(named.pin?.partitions[0]?.clamped).toContain('2');
      const later = await rig.state(await rig.request({ topic, from: '0:12', to: '0:15' }), 'RUNNING');
      expect(later.pin?.partitions[0]).toMatchObject({ start: 11n, clamped: '' });
    });

    it('P7: a job whose reservation was passed before it was accepted ends, and says why', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(20));
      const former = await rig.start();
      await finishOne(rig, topic);
      // Not yet fenced, it would reserve for the same request.
      await former.stop('a test');
      const { frozen, release } = await rig.startFrozenAt('job.before-commit');
      const jobId = await rig.request({ topic });
      await frozen;
      const place = await placeOf(rig, topic);
      await rig.parts.floors.drop({ place, holder: jobId }); // as a reservation that ran out and was passed
      await propose(rig, topic, 7n);
      release();
      const state = await rig.ended(jobId);
      expect(state.state).toBe('REFUSED');
      expect(state.reason).toMatch(/^RETENTION_WAS_FASTER: partition 0 was given up below 7 .* from 0 on/);
      expect(await rig.kinds(jobId)).toEqual(['JobRequested', 'JobPinned', 'JobRefused']);
      expect(await rig.parts.store.snapshot(jobId)).toBeUndefined();
      const next = await rig.state(await rig.request({ topic }), 'RUNNING');
      expect(next.pin?.partitions[0]?.start).toBe(6n);
    });

    it.each([
      ['is accepted by the next distributor when nothing was cut', 0n, 'RUNNING'],
      ['is refused by the next distributor when its start was given up', 7n, 'REFUSED'],
    ])('a job whose distributor died between commit and confirmation %s', async (_, mark, outcome) => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(20));
      const former = await rig.start();
      await finishOne(rig, topic);
      // Not yet fenced, it would reserve for the same request.
      await former.stop('a test');
      const { frozen, release } = await rig.startFrozenAt('job.committed');
      const jobId = await rig.request({ topic });
      await frozen;
      await rig.parts.floors.drop({ place: await placeOf(rig, topic), holder: jobId });
      if (mark > 0n) await propose(rig, topic, mark);
      await rig.start();
      await rig.state(jobId, outcome);
      if (outcome === 'RUNNING') await floorAt(rig, topic, 0n);
      release();
    });

    it('P8: a mark that became durable too late does not cost an accepted job its window when the store is lost', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(20));
      await rig.start();
      const jobId = await rig.request({ topic });
      await rig.ranges(jobId);
      const place = await placeOf(rig, topic);
      // A guard proposed it before the store was lost for the first time, and found out only after writing it.
      const session = await createMarkLog(rig.parts).openSession();
      await session.write([{ formatVersion: 1, ...place, offset: 15n, guard: 'a test', atMs: 0n }]);
      await session.close();
      await rig.parts.loseStore();
      await floorAt(rig, topic, 0n);
      const look = (await rig.parts.floors.look(place)) ?? raise('the place is incomplete');
      expect(look.mark).toBe(15n);
      const question = { place, life: look.life, target: toOffset(20n), required: [jobId] };
      expect(await rig.parts.floors.propose(question)).toEqual({ kind: 'held', floor: 0n });
      await rig.settleAll(jobId);
      await rig.state(jobId, 'COMPLETED');
    });

    it('P7: what a guard released is told of the job at once, once for each partition, and with whose floor it was', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(2);
      for (const partition of [0, 1]) await rig.produce(topic, partition, numbers(10));
      await rig.start({ floorsLookEveryMs: 0 });
      const jobId = await rig.request({ topic, holdForAuditMs: 3_600_000n });
      await rig.state(jobId, 'RUNNING');
      const first = await placeOf(rig, topic);
      const second = { ...first, partition: 1 };
      const audit = `audit:${jobId}`;
      const atMs = BigInt(Date.now() + 60_000);
      const raiseTo = (place: FloorPlace, holder: string) =>
        rig.parts.floors.raise({ place, holder, to: toOffset(7n) });
      // Somebody raised it, and no guard says why: nothing is told, as nothing is known.
      await raiseTo(first, jobId);
      await rig.state(await rig.request({ topic, from: 'now' }), 'COMPLETED');
      await release(rig, first, [{ holder: jobId, fromOffset: 3n, atMs }]);
      const told = await rig.state(jobId, ({ releasedFloors }) => releasedFloors.length > 0);
      expect(told).toMatchObject({ state: 'RUNNING', heldForAuditUntilMs: -1n });
      expect(told.releasedFloors).toEqual([{ partition: 0, ofAudit: false, fromOffset: 3n, atMs }]);
      await release(rig, first, [
        { holder: jobId, fromOffset: 3n, atMs },
        { holder: audit, fromOffset: 0n, atMs },
      ]);
      await raiseTo(first, audit);
      await rig.state(jobId, ({ releasedFloors }) => releasedFloors.length === 2);
      // Of a former job of that name; and whoever sees the floor of the audit raised sees that of the job raised, too.
      await release(rig, second, [
        { holder: jobId, fromOffset: 1n, atMs: 1n },
        { holder: audit, fromOffset: 2n, atMs },
      ]);
      await raiseTo(second, jobId);
      await raiseTo(second, audit);
      await rig.state(jobId, ({ releasedFloors }) => releasedFloors.length > 2);
      await rig.settleAll(jobId);
      const ended = await rig.ended(jobId);
      expect(ended.releasedFloors).toEqual([
        { partition: 0, ofAudit: false, fromOffset: 3n, atMs },
        { partition: 0, ofAudit: true, fromOffset: 0n, atMs },
        { partition: 1, ofAudit: true, fromOffset: 2n, atMs },
      ]);
      const events = (await rig.events(jobId)).filter(({ kind }) => kind === 'JobFloorReleased');
      expect(events.map(({ reason }) => reason)).toEqual([
        'the log was held for too long and is released in partition 0 from 3 on: what was not read there by then may be gone',
        'the log was held for too long and is released in partition 0 from 0 on (for its audit): what was not read there by then may be gone',
        'the log was held for too long and is released in partition 1 from 2 on (for its audit): what was not read there by then may be gone',
      ]);
    });

    it('P8: a lost store gets floors from the checkpoints and marks from Kafka, and Kafka names the store', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(20));
      await rig.start();
      await finishOne(rig, topic);
      const place = await placeOf(rig, topic);
      const marks = createMarkLog(rig.parts);
      const session = await marks.openSession();
      await session.write([{ formatVersion: 1, ...place, offset: 3n, guard: 'a test', atMs: 0n }]);
      await session.close();
      await propose(rig, topic, 3n);
      const jobId = await rig.request({ topic, from: '0:4', to: '0:19' });
      const [range] = await rig.ranges(jobId);
      if (range === undefined) return raise('no range');
      await rig.settle(jobId, range, toOffset(8));
      await checkpointed(rig, jobId, 8n);
      await rig.parts.loseStore();
      await floorAt(rig, topic, 9n);
      expect(await rig.parts.floors.look(place)).toMatchObject({ mark: 3n });
      expect((await marks.load()).store?.incarnation).toBe(await rig.parts.floors.incarnation());
      await rig.settleAll(jobId);
      await rig.state(jobId, 'COMPLETED');
    });
  });
}

/** As a guard writes it, beside its marks. */
async function release(rig: Rig, place: FloorPlace, releases: LogWatch['releases']): Promise<void> {
  const session = await createMarkLog(rig.parts).openSession();
  const known = { firstLogStart: 0n, removals: [], wentBackMark: -1n, guard: 'a test', atMs: 0n };
  await session.watch([{ formatVersion: 1, ...place, ...known, releases }]);
  await session.close();
}

export async function placeOf(rig: Rig, topic: string): Promise<FloorPlace> {
  const found = await rig.parts.cluster.catalog.describe(topic);
  return { topic, topicId: found?.topicId ?? raise('the topic is gone'), partition: 0 };
}

/** By partition; floors that stay. */
export async function floorsOf(
  rig: Rig,
  topic: string,
): Promise<readonly (readonly { holder: string; offset: Offset }[])[]> {
  const found = (await rig.parts.cluster.catalog.describe(topic)) ?? raise('the topic is gone');
  const floors: { holder: string; offset: Offset }[][] = [];
  for (let partition = 0; partition < found.partitionCount; partition++) {
    const look = await rig.parts.floors.look({ topic, topicId: found.topicId, partition });
    const staying = look?.floors.filter(({ reservedUntilMs }) => reservedUntilMs === undefined) ?? [];
    floors.push(staying.map(({ holder, offset }) => ({ holder, offset })));
  }
  return floors;
}

export async function floorAt(rig: Rig, topic: string, offset: bigint): Promise<void> {
  await waitFor(`a floor at ${offset}`, async () => (await floorsOf(rig, topic))[0]?.[0]?.offset === offset);
}

async function floorsGone(rig: Rig, topic: string): Promise<void> {
  await waitFor('no floor to be held', async () => (await floorsOf(rig, topic))[0]?.length === 0);
}

async function heldBy(rig: Rig, topic: string, holders: readonly string[]): Promise<void> {
  await waitFor(`floors of ${holders.join(', ')}`, async () => {
    const found = (await floorsOf(rig, topic))[0]?.map(({ holder }) => holder) ?? [];
    return holders.every((holder) => found.includes(holder));
  });
}

/** A distributor that stands still, as one that was suspended, between its proof and the confirmation of a floor. */
function hesitating(floors: FloorStore) {
  const gate = Promise.withResolvers<void>();
  const reached = new Map<string, PromiseWithResolvers<void>>();
  const done = Promise.withResolvers<void>();
  const at = (holder: string): PromiseWithResolvers<void> => {
    const known = reached.get(holder) ?? Promise.withResolvers<void>();
    reached.set(holder, known);
    return known;
  };
  const hesitant: FloorStore = {
    ...floors,
    confirm: async (request) => {
      at(request.holder).resolve();
      await gate.promise;
      const answer = await floors.confirm(request);
      done.resolve();
      return answer;
    },
  };
  onTestFinished(() => gate.resolve());
  return {
    floors: hesitant,
    confirms: (holder: string): Promise<void> => at(holder).promise,
    /** Resolves when it has confirmed. */
    goOn: async (): Promise<void> => {
      gate.resolve();
      await done.promise;
    },
  };
}

/** A topic has floors and marks from its first job on. */
async function finishOne(rig: Rig, topic: string): Promise<void> {
  const jobId = await rig.request({ topic });
  await rig.settleAll(jobId);
  await rig.ended(jobId);
  await floorsGone(rig, topic);
}

async function propose(rig: Rig, topic: string, target: bigint): Promise<void> {
  const place = await placeOf(rig, topic);
  const { life } = (await rig.parts.floors.look(place)) ?? raise('the place is incomplete');
  const answer = await rig.parts.floors.propose({ place, life, target: toOffset(target), required: [] });
  expect(answer).toEqual({ kind: 'proposed', mark: target });
}
