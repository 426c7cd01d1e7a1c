import { ErrorClass, partitionOfKey, TidemarkError, toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { follow, scanTopic } from '../scan.ts';
import { append, type LogHarness, numbered, recordFor, refusal, sourceOf } from './contract-harness.ts';
import { readAll, WRITTEN_WAIT_MS } from './read-all.ts';

const SHOWN_WITHIN_MS = 60_000;

export function catalogContract(harness: () => LogHarness): void {
  it('creates a topic as specified, accepts it again, and names every difference', async () => {
    const { cluster } = harness();
    const configs = { 'cleanup.policy': 'compact', 'max.message.bytes': '2097152' };
    const spec = { topic: harness().uniqueName('ensured'), partitionCount: 2, replicationFactor: 1, configs };
    const created = await cluster.catalog.ensure(spec);
    expect(created).toMatchObject({ topic: spec.topic, partitionCount: 2 });
    expect(await cluster.catalog.ensure(spec)).toEqual(created);
    expect(await cluster.catalog.describe(spec.topic)).toEqual(created);
    const error = await refusal(
      cluster.catalog.ensure({ ...spec, partitionCount: 3, configs: { ...configs, 'cleanup.policy': 'delete' } }),
    );
    expect(error).toMatchObject({ class: 'config', code: 'TOPIC_MISMATCH' });
    expect(error.message).toMatch(/partitions/);
    expect(error.message).toMatch(/cleanup\.policy/);
  });

  it('tells the settings of a topic, its own and inherited ones, and creates nothing by asking', async () => {
    const { catalog } = harness().cluster;
    const { topic } = await harness().createTopic({ configs: { 'retention.ms': '-1', 'cleanup.policy': 'compact' } });
    const settings = await catalog.settings(topic, ['retention.ms', 'retention.bytes', 'cleanup.policy', 'no.such']);
    expect(Object.fromEntries(settings)).toEqual({
      'retention.ms': '-1',
      'retention.bytes': '-1',
      'cleanup.policy': 'compact',
    });
    const missing = harness().uniqueName('missing');
    expect(await refusal(catalog.settings(missing, ['retention.ms']))).toMatchObject({ code: 'TOPIC_NOT_FOUND' });
    expect(await catalog.describe(missing)).toBeUndefined();
  });

  it('sets some settings of a topic, leaves its others, and creates nothing', async () => {
    const { catalog } = harness().cluster;
    const { topic } = await harness().createTopic({ configs: { 'retention.ms': '1000000', 'segment.ms': '777000' } });
    await catalog.changeSettings(topic, { 'retention.ms': '-1', 'retention.bytes': '-1' });
    const settings = async () =>
      Object.fromEntries(await catalog.settings(topic, ['retention.ms', 'retention.bytes', 'segment.ms']));
    // A broker shows them a moment after its controller has taken them.
    await expect.poll(settings, { timeout: SHOWN_WITHIN_MS }).toEqual({
      'retention.ms': '-1',
      'retention.bytes': '-1',
      'segment.ms': '777000',
    });
    const missing = harness().uniqueName('missing');
    expect(await refusal(catalog.changeSettings(missing, { 'retention.ms': '-1' }))).toMatchObject({
      code: 'TOPIC_NOT_FOUND',
    });
    expect(await catalog.describe(missing)).toBeUndefined();
  });

  it('tells where a group goes on, and nothing where it has committed nothing', async () => {
    const { catalog } = harness().cluster;
    const topic = await harness().createTopic({ partitionCount: 3 });
    const group = harness().uniqueName('billing');
    expect(await catalog.committedOffsets(group, topic)).toEqual([undefined, undefined, undefined]);
    await harness().commitOffset(group, topic.topic, 0, 0n);
    await harness().commitOffset(group, topic.topic, 2, 501n);
    expect(await catalog.committedOffsets(group, topic)).toEqual([0n, undefined, 501n]);
  });

  it('C1: finds the first offset at or after a time, and none after the last record', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic({ partitionCount: 2 });
    const times = [1_000n, 2_000n, 3_000n];
    await append(
      cluster,
      times.map((timestampMs) => ({ ...recordFor(topic, 'x'), timestampMs })),
    );
    const at = (timestampMs: bigint) => cluster.catalog.offsetsAt(topic, timestampMs);
    expect([await at(500n), await at(2_000n), await at(2_001n), await at(3_001n)]).toEqual([
      [0n, undefined],
      [1n, undefined],
      [2n, undefined],
      [undefined, undefined],
    ]);
  });

  it('B7: never deletes records below anything but a positive offset', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    await append(cluster, numbered(topic, 0, 2));
    for (const offset of [-1, 0]) {
      expect(await refusal(cluster.catalog.deleteRecordsBefore(sourceOf(topic), toOffset(offset)))).toMatchObject({
        class: 'config',
      });
    }
    expect(await cluster.catalog.offsets(topic)).toMatchObject([{ logStartOffset: 0n, highWatermark: 2n }]);
  });
}

export function writerContract(harness: () => LogHarness): void {
  it('places records by key as the Java client does, and returns their offsets in the given order', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic({ partitionCount: 3 });
    const keys = ['a', 'b', 'c', 'd', 'a', 'e'];
    const appended = await append(
      cluster,
      keys.map((key) => ({ topic: topic.topic, key: Buffer.from(key), value: Buffer.from(key) })),
    );
    const next = [0n, 0n, 0n];
    const expected = keys.map((key) => {
      const partition = partitionOfKey(Buffer.from(key), 3);
      const offset = next[partition] ?? 0n;
      next[partition] = offset + 1n;
      return { topic: topic.topic, partition, offset };
    });
    expect(appended).toEqual(expected);
  });

  it('G7: refuses a record above the limit of its topic by name, and goes on working', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic({ configs: { 'max.message.bytes': '1000' } });
    const writer = await cluster.openWriter();
    const error = await refusal(writer.append([recordFor(topic, 'small'), recordFor(topic, 'x'.repeat(2_000), 'k3')]));
    expect(error).toMatchObject({
      class: 'data',
      code: 'RECORD_TOO_LARGE',
      context: { topic: topic.topic, key: '"k3"' },
    });
    // Many that fit one by one, but not together in one batch.
    expect(await writer.append(Array.from({ length: 5 }, () => recordFor(topic, 'y'.repeat(400))))).toHaveLength(5);
    await writer.close();
    expect(await cluster.catalog.offsets(topic)).toMatchObject([{ highWatermark: 5n }]);
  });

  it('commits over several topics at once, and reads nothing of it before', async () => {
    const { cluster } = harness();
    const [one, two] = [await harness().createTopic(), await harness().createTopic()];
    const writer = await cluster.openTransactionalWriter({ transactionalId: harness().uniqueName('tx') });
    await writer.commit([...numbered(one, 0, 2), ...numbered(two, 0, 1)]);
    await writer.commit([]);
    await writer.commit(numbered(two, 1, 1));
    expect(writer.usable).toBe(true);
    await writer.close();
    const reader = cluster.openReader();
    expect((await readAll({ reader, source: sourceOf(one), end: 2n, waitMs: WRITTEN_WAIT_MS })).offsets).toEqual([
      0, 1,
    ]);
    expect((await readAll({ reader, source: sourceOf(two), end: 3n, waitMs: WRITTEN_WAIT_MS })).offsets).toEqual([
      0, 2,
    ]);
    await reader.close();
  });

  it('writes behind what it wrote when all that lies before it is there, and nothing of either is seen until then', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic({ partitionCount: 2 });
    await append(cluster, numbered(topic, 0, 2));
    const writer = await cluster.openTransactionalWriter({ transactionalId: harness().uniqueName('tx') });
    const seen: unknown[] = [];
    const records = [...numbered(topic, 10, 2), { ...recordFor(topic, 'elsewhere'), partition: 1 }];
    await append(cluster, numbered(topic, 2, 1));
    await writer.commit(records, async (written) => {
      seen.push(written.map(({ partition, offset }) => [partition, offset]));
      await append(cluster, numbered(topic, 3, 1));
      seen.push((await cluster.catalog.offsets(topic)).map(({ lastStableOffset }) => lastStableOffset));
      return numbered(topic, 12, 1);
    });
    expect(seen).toEqual([
      [
        [0, 3n],
        [0, 4n],
        [1, 0n],
      ],
      [3n, 0n],
    ]);
    expect(writer.usable).toBe(true);
    await writer.commit(numbered(topic, 13, 1), async () => []);
    await writer.close();
    const reader = cluster.openReader();
    const { records: read } = await readAll({ reader, source: sourceOf(topic), end: 8n, waitMs: WRITTEN_WAIT_MS });
    await reader.close();
    expect(read.map(({ value }) => value?.toString())).toEqual(['0', '1', '2', '10', '11', '3', '12', '13']);
  });

  it('takes everything back when nobody can say what is to lie behind it, at once', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    const transactionalId = harness().uniqueName('tx');
    const writer = await cluster.openTransactionalWriter({ transactionalId });
    const { transactions } = cluster.catalog;
    const before = await transactions.producerOf(transactionalId);
    const given = new TidemarkError({ code: 'GIVEN_UP', class: ErrorClass.data, message: 'given up' });
    expect(await refusal(writer.commit(numbered(topic, 0, 1), () => Promise.reject(given)))).toBe(given);
    expect(writer.usable).toBe(false);
    await writer.close();
    await append(cluster, numbered(topic, 5, 1));
    const reader = cluster.openReader();
    const { records } = await readAll({ reader, source: sourceOf(topic), end: 2n, waitMs: WRITTEN_WAIT_MS });
    await reader.close();
    expect(records.map(({ value }) => value?.toString())).toEqual(['5']);
    // Where a transaction runs out of time, its producer is fenced.
    expect(await transactions.producerOf(transactionalId)).toEqual(before);
  });

  it('is fenced while it says what is to lie behind, and nothing of it is seen', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    const transactionalId = harness().uniqueName('tx');
    const older = await cluster.openTransactionalWriter({ transactionalId });
    const reader = cluster.openReader();
    const valuesUpTo = async (end: bigint) => {
      const { records } = await readAll({ reader, source: sourceOf(topic), end, waitMs: WRITTEN_WAIT_MS });
      return records.map(({ value }) => value?.toString());
    };
    const seen: unknown[] = [];
    const overtaken = older.commit(numbered(topic, 0, 1), async () => {
      const newer = await cluster.openTransactionalWriter({ transactionalId });
      await newer.commit(numbered(topic, 5, 1));
      await newer.close();
      seen.push(await valuesUpTo(2n));
      return numbered(topic, 1, 1);
    });
    expect(await refusal(overtaken)).toMatchObject({ class: 'fenced' });
    await older.close();
    expect(seen).toEqual([['5']]);
    await append(cluster, numbered(topic, 6, 1));
    const [offsets] = await cluster.catalog.offsets(topic);
    expect(await valuesUpTo((offsets?.highWatermark ?? 0n) - 1n)).toEqual(['5', '6']);
    await reader.close();
  });

  it('fences the older session of an id when a newer one opens, before that one has written anything', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    const transactionalId = harness().uniqueName('tx');
    const older = await cluster.openTransactionalWriter({ transactionalId });
    await older.commit(numbered(topic, 0, 1));
    const newer = await cluster.openTransactionalWriter({ transactionalId });
    expect(await refusal(older.commit(numbered(topic, 100, 1)))).toMatchObject({ class: 'fenced' });
    expect(older.usable).toBe(false);
    expect(await refusal(older.commit(numbered(topic, 100, 1)))).toMatchObject({ class: 'fenced' });
    await newer.commit(numbered(topic, 1, 1));
    await Promise.all([older.close(), newer.close()]);
    const [offsets] = await cluster.catalog.offsets(topic);
    const reader = cluster.openReader();
    const { records } = await readAll({
      reader,
      source: sourceOf(topic),
      end: (offsets?.highWatermark ?? 0n) - 1n,
      waitMs: WRITTEN_WAIT_MS,
    });
    await reader.close();
    expect(records.map(({ value }) => value?.toString())).toEqual(['0', '1']);
  });

  it('is dead after a refused record, with nothing of that commit to be seen', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic({ configs: { 'max.message.bytes': '1000' } });
    const writer = await cluster.openTransactionalWriter({ transactionalId: harness().uniqueName('tx') });
    expect(
      await refusal(writer.commit([recordFor(topic, 'small'), recordFor(topic, 'x'.repeat(2_000))])),
    ).toMatchObject({ class: 'data' });
    expect(writer.usable).toBe(false);
    await writer.close();
    const [offsets] = await cluster.catalog.offsets(topic);
    expect(offsets?.lastStableOffset).toBe(0n);
  });
}

export function scanContract(harness: () => LogHarness): void {
  it('scans every partition up to the high watermark, then follows what comes', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic({ partitionCount: 2 });
    const at = (partition: number, value: string) => ({ ...recordFor(topic, value), partition });
    await append(cluster, [at(0, 'a'), at(0, 'b'), at(1, 'c')]);
    const seen: string[] = [];
    const visit = ({ value }: { value: Buffer | null }, partition: number): void =>
      void seen.push(`${partition}${value}`);
    const position = await scanTopic({ cluster, topic, visit });
    expect([seen, position.cursors]).toEqual([
      ['0a', '0b', '1c'],
      [1n, 0n],
    ]);
    const stop = new AbortController();
    const followed = new Promise<void>((resolve, reject) => {
      const onRecord = (record: { value: Buffer | null }, partition: number): void => {
        visit(record, partition);
        if (seen.length === 5) stop.abort();
      };
      follow({ cluster, position, visit: onRecord, signal: stop.signal }).then(resolve, reject);
    });
    await append(cluster, [at(1, 'd'), at(0, 'e')]);
    await followed;
    expect(seen.slice(3).sort()).toEqual(['0e', '1d']);
  });

  it('does not wait for ever for an open transaction', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    const open = await harness().begin();
    await open.append(numbered(topic, 0, 1));
    const scan = scanTopic({ cluster, topic, visit: () => undefined, openTransactionWaitMs: 100 });
    expect(await refusal(scan)).toMatchObject({ class: 'unavailable', code: 'OPEN_TRANSACTION' });
    await open.abort();
  });
}
