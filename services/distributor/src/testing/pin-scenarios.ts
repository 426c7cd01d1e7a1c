/** What the pin must do. */
import { type Codec, SchemaName } from '@tidemark/contracts';
import { describe, expect, it } from 'vitest';
import { enlisted, numbers, type RigOf, raise } from './scenario-looks.ts';

const T0 = 1_700_000_000_000n;
const windowsOf = (state: {
  readonly pin: { readonly partitions: readonly { start: bigint; end: bigint }[] } | null;
}) => state.pin?.partitions.map(({ start, end }) => [start, end]);

async function positionRecord(codec: Codec, topic: string, parked: readonly (readonly [topic: string, key: string])[]) {
  const value = await codec.encode(SchemaName.relayPosition, {
    formatVersion: 2,
    relay: 'main',
    snapshot: '10:20:',
    nextSnapshot: '',
    place: 0n,
    walInsertLsn: '0/1',
    systemIdentifier: '1',
    timeline: 1,
    partitionCounts: {},
    partitioner: 'murmur2',
    parked: parked.map(([parkedTopic, key]) => {
      const told = { table: '', type: 'x', bytes: 9n, parkedAtMs: 1n, triedAtMs: 1n };
      return { topic: parkedTopic, key, position: 7n, reason: 'too large', ...told };
    }),
    atMs: 1n,
  });
  return { topic, partition: 0, key: Buffer.from('main'), value };
}

export function pinScenarios(where: string, rigOf: RigOf): void {
  describe(`the pin (${where})`, () => {
    it('P1: while a producer writes all the time, what was acknowledged before the submit is in, and after the pin is out', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(2);
      await rig.start();
      const writer = await rig.parts.cluster.openWriter();
      const acknowledged: { partition: number; offset: bigint; sentAtMs: number }[] = [];
      const producing = new AbortController();
      const produce = async (): Promise<void> => {
        for (let sent = 0; !producing.signal.aborted; sent++) {
          const record = { topic, partition: sent % 2, key: null, value: Buffer.from(String(sent)) };
          const sentAtMs = Date.now();
          const [appended] = await writer.append([record]);
          if (appended !== undefined) acknowledged.push({ ...appended, sentAtMs });
          // Lets the distributor have its turn in the one thread of the in-memory test.
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      const done = produce();
      for (let round = 0; round < 3; round++) {
        const before = [...acknowledged];
        const jobId = await rig.request({ topic });
        const state = await rig.state(jobId, 'RUNNING');
        const highest = await rig.parts.cluster.catalog.offsets(
          (await rig.parts.cluster.catalog.describe(topic)) ?? raise('the topic is gone'),
        );
        const [, pinned] = await rig.events(jobId);
        expect(pinned?.kind).toBe('JobPinned');
        expect(pinned?.pin).toEqual(state.pin);
        const ends = new Map(state.pin?.partitions.map(({ partition, end }) => [partition, end]));
        for (const { partition, offset } of before) expect(offset).toBeLessThanOrEqual(ends.get(partition) ?? -2n);
        const pinnedAtMs = Number(state.pin?.pinnedAtMs);
        const later = () => acknowledged.filter(({ sentAtMs }) => sentAtMs > pinnedAtMs);
        while (later().length === 0) await new Promise((resolve) => setImmediate(resolve));
        for (const { partition, offset } of later()) expect(offset).toBeGreaterThan(ends.get(partition) ?? -2n);
        for (const { partition, highWatermark } of highest) expect(ends.get(partition)).toBeLessThan(highWatermark);
        await rig.settleAll(jobId);
        await rig.state(jobId, 'COMPLETED');
      }
      producing.abort();
      await done;
      await writer.close();
    });

    it('P1: JobPinned lists the keys of its topic that wait unsent in the outbox, and says nothing where no relay is', async () => {
      const rig = rigOf();
      const { cluster, codec, namespace, newTopic } = rig.parts;
      const topic = await newTopic(1);
      await rig.produce(topic, 0, numbers(1));
      await rig.start();
      const pinOf = async () => {
        const jobId = await rig.request({ topic });
        const { pin } = await rig.state(jobId, 'RUNNING');
        expect((await rig.events(jobId)).find(({ kind }) => kind === 'JobPinned')?.pin).toEqual(pin);
        return [pin?.unsentKeys, pin?.unsent];
      };
      expect(await pinOf()).toEqual([0n, []]);
      const positions = `${namespace}.relay`;
      await cluster.catalog.ensure({ topic: positions, partitionCount: 1, replicationFactor: 1, configs: {} });
      const writer = await cluster.openTransactionalWriter({ transactionalId: positions });
      const parked = ['k1', 'k2'].map((key) => [topic, key] as const);
      await writer.commit([await positionRecord(codec, positions, [['other', 'x'], ...parked])]);
      await writer.close();
      // The broker answers a commit before its marker is written, and a pin does not wait long for it.
      await rig.scan(positions, async () => undefined);
      const listed = ['k1', 'k2'].map((key) => ({ key, position: 7n, reason: 'too large' }));
      expect(await pinOf()).toEqual([2n, listed]);
    });

    it('P1: an open transaction is part of the window: the end is the high watermark, not the last stable offset', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(3));
      const commit = await rig.parts.openTransaction(topic, numbers(4));
      await rig.start();
      const jobId = await rig.request({ topic });
      expect(windowsOf(await rig.state(jobId, 'RUNNING'))).toEqual([[-1n, 6n]]);
      await commit();
    });

    it('A5: empty partitions make no range, and an over-long end is clamped and said', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(4);
      await rig.produce(topic, 0, numbers(2));
      await rig.start();
      const jobId = await rig.request({ topic, from: '0:0,1:0,2:0,3:0', to: '0:2,1:2,2:2,3:2' });
      const state = await rig.state(jobId, 'RUNNING');
      expect(windowsOf(state)).toEqual([
        [-1n, 1n],
        [-1n, -1n],
        [-1n, -1n],
        [-1n, -1n],
      ]);
      expect(state.pin?.partitions.map(({ clamped }) => clamped !== '')).toEqual([true, true, true, true]);
      expect(await rig.ranges(jobId)).toHaveLength(1);
      await rig.settleAll(jobId);
      expect((await rig.ended(jobId)).totals?.ok).toBe(2n);
    });

    it('A5: a topic without records completes at once, with zero, and never reaches the store', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(4);
      await rig.start();
      const jobId = await rig.request({ topic });
      const state = await rig.ended(jobId);
      expect(state).toMatchObject({ state: 'COMPLETED', reason: 'clean', totals: { ok: 0n, filtered: 0n } });
      expect(await rig.kinds(jobId)).toEqual(['JobRequested', 'JobPinned', 'JobStarted', 'JobCompleted']);
      expect(await rig.parts.store.snapshot(jobId)).toBeUndefined();
      expect(await enlisted(rig)).toEqual([]);
    });

    it('C1: times after the last record complete with zero, others scan to the pinned end', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(2);
      await rig.produce(topic, 0, numbers(10), T0);
      await rig.start();
      const later = await rig.request({ topic, from: String(T0 + 3_600_000n), to: String(T0 + 7_200_000n) });
      expect(await rig.ended(later)).toMatchObject({ state: 'COMPLETED', reason: 'clean' });
      const half = await rig.request({ topic, from: String(T0 + 3_000n), to: String(T0 + 6_500n) });
      expect(windowsOf(await rig.state(half, 'RUNNING'))).toEqual([
        [2n, 9n],
        [-1n, -1n],
      ]);
      expect(await rig.definition(half)).toMatchObject({
        fromMs: Number(T0) + 3_000,
        toMs: Number(T0) + 6_500,
      });
    });

    it('C1: with a disorder bound a window by time ends before the first record that is so much later, and the log is held no further', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(3);
      await rig.produce(topic, 0, numbers(10), T0);
      await rig.produce(topic, 1, numbers(3), T0);
      await rig.start();
      const window = { from: String(T0 + 3_000n), to: String(T0 + 5_000n) };
      // A record a second: those of 7 s and later are behind the bound, in the second partition there are none.
      const bounded = await rig.request({ topic, ...window, disorderMs: 2_000n });
      expect(windowsOf(await rig.state(bounded, 'RUNNING'))).toEqual([
        [2n, 6n],
        [2n, 2n],
        [-1n, -1n],
      ]);
      const strict = await rig.request({ topic, ...window, disorderMs: 0n });
      expect(windowsOf(await rig.state(strict, 'RUNNING'))?.[0]).toEqual([2n, 4n]);
      const none = await rig.request({ topic, from: 'earliest', to: String(T0), disorderMs: 0n });
      expect(windowsOf(await rig.ended(none))?.[0]).toEqual([-1n, -1n]);
      const nonsense = await rig.request({ topic, disorderMs: 2_000n });
      expect(await rig.ended(nonsense)).toMatchObject({
        state: 'REFUSED',
        reason: expect.stringContaining('it needs an instant as its end'),
      });
    });

    it('B3: an unknown topic is refused and not created', async () => {
      const rig = rigOf();
      await rig.start();
      const topic = `${await rig.parts.newTopic(1)}-other`;
      const jobId = await rig.request({ topic });
      const state = await rig.ended(jobId);
      expect(state.state).toBe('REFUSED');
      expect(state.reason).toContain('TOPIC_NOT_FOUND');
      expect(await rig.parts.cluster.catalog.describe(topic)).toBeUndefined();
    });

    it('after:JOB needs that job completed, and then leaves neither gap nor overlap', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, numbers(5));
      await rig.start();
      const first = await rig.request({ topic });
      await rig.state(first, 'RUNNING');
      const tooEarly = await rig.ended(await rig.request({ topic, from: `after:${first}` }));
      expect(tooEarly).toMatchObject({ state: 'REFUSED' });
      expect(tooEarly.reason).toContain(`job ${first} is RUNNING`);
      await rig.settleAll(first);
      await rig.ended(first);
      await rig.produce(topic, 0, numbers(3));
      const second = await rig.state(await rig.request({ topic, from: `after:${first}` }), 'RUNNING');
      expect(windowsOf(second)).toEqual([[4n, 7n]]);
    });

    it('refuses what can never run, with all faults at once', async () => {
      const rig = rigOf();
      const topic = await rig.parts.newTopic(1);
      await rig.start();
      const state = await rig.ended(await rig.request({ topic, from: '0:9', to: '0:8', ordering: 'random' }));
      expect(state.state).toBe('REFUSED');
      expect(state.reason).toContain('before its start');
      expect(state.reason).toContain('ordering');
    });
  });
}
