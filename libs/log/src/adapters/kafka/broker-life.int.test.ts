/** What only a broker of one's own allows: killing it, and editing what it has on disk. */
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { crc32c } from '@platformatic/kafka';
import { toOffset } from '@tidemark/keyspace';
import { createTopic, type PrivateService, privateKafka, produce, uniqueName, waitFor } from '@tidemark/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FETCH_ATTEMPTS_MAX } from '../../limits.ts';
import type { LogCluster, Source } from '../../ports.ts';
import { readAll } from '../../testing/read-all.ts';
import { createKafkaCluster } from './cluster.ts';

let broker: PrivateService;
let cluster: LogCluster;
beforeAll(async () => {
  broker = await privateKafka();
  cluster = createKafkaCluster({ brokers: [broker.address], clientId: uniqueName('life') });
});
afterAll(async () => {
  await cluster.close();
  await broker.stop();
});

async function topicWith(count: number, configs: Readonly<Record<string, string>> = {}): Promise<Source> {
  const topic = await createTopic(uniqueName('life'), {
    kafka: broker.address,
    configs: { 'retention.ms': '-1', ...configs },
  });
  if (count > 0)
    await produce(
      topic,
      Array.from({ length: count }, (_, index) => ({ value: String(index) })),
      { kafka: broker.address },
    );
  const { topicId } = await waitFor('the topic', () => cluster.catalog.describe(topic));
  return { topic, topicId, partition: 0 };
}

/** A broker that is back tells of its topics before it serves them, and a reader waits for that a second or two at most. */
async function serving(...sources: readonly Source[]): Promise<void> {
  for (const source of sources)
    await waitFor(`${source.topic} to be served`, () => cluster.catalog.offsets({ ...source, partitionCount: 1 }));
}

/** How many connections come to where the broker was, and are cut there. */
async function attemptsDuring(act: () => Promise<void>): Promise<number> {
  const { hostname, port } = new URL(`tcp://${broker.address}`);
  let attempts = 0;
  // The last threads of a killed virtual machine hold its port for a moment.
  const server = await waitFor('the port of the broker', () => {
    const { promise, resolve } = Promise.withResolvers<Server | undefined>();
    const candidate = createServer((socket) => {
      attempts += 1;
      socket.destroy();
    });
    candidate.once('error', () => resolve(undefined));
    candidate.listen(Number(port), hostname, () => resolve(candidate));
    return promise;
  });
  await act();
  await new Promise((resolve) => server.close(resolve));
  return attempts;
}

/** The segment files of a partition, wherever the broker keeps its data. */
function segmentFolder({ topic, partition }: Source): string {
  const name = `${topic}-${partition}`;
  const found = readdirSync(broker.folder, { recursive: true, withFileTypes: true }).find(
    (entry) => entry.isDirectory() && entry.name === name,
  );
  if (found === undefined) throw new Error(`no folder ${name} below ${broker.folder}`);
  return join(found.parentPath, name);
}

function segmentName(baseOffset: bigint): string {
  return baseOffset.toString().padStart(20, '0');
}

/** Moves an empty segment to another base offset: the log then goes on from there. */
function moveSegment(folder: string, from: bigint, to: bigint): void {
  for (const file of readdirSync(folder)) {
    if (file.startsWith(segmentName(from)))
      renameSync(join(folder, file), join(folder, file.replace(segmentName(from), segmentName(to))));
  }
}

const ATTRIBUTES_AT = 21;

/** Edits the first batch of a segment and signs it anew. */
function editFirstBatch(file: string, edit: (batch: Buffer) => void, options: { readonly sign: boolean }): void {
  const bytes = readFileSync(file);
  const batch = bytes.subarray(0, 12 + bytes.readInt32BE(8));
  edit(batch);
  if (options.sign) batch.writeUInt32BE(crc32c(batch.subarray(ATTRIBUTES_AT)), 17);
  writeFileSync(file, bytes);
}

describe('a broker that is not well', () => {
  it('B9: is killed under a reader and a writer, which go on when it is back', async () => {
    const source = await topicWith(100);
    const reader = cluster.openReader();
    const writer = await cluster.openWriter();
    expect((await readAll({ reader, source, end: 49n, recordsMax: 10 })).cursor).toBe(49n);
    await broker.kill();
    const failingRead = async (): Promise<void> => {
      const read = reader.read({
        source,
        cursor: toOffset(99),
        end: toOffset(150),
        recordsMax: 10,
        bytesMax: 1_000,
        waitMs: 100,
      });
      await expect(read).rejects.toMatchObject({ class: 'unavailable', code: 'KAFKA_UNAVAILABLE' });
    };
    const patient = await attemptsDuring(failingRead);
    expect(patient).toBeGreaterThan(1);
    expect(patient).toBeLessThanOrEqual(FETCH_ATTEMPTS_MAX);
    // From then on the caller sets the pace: one attempt each, which a closed port refuses.
    expect(await attemptsDuring(failingRead)).toBe(1);
    await failingRead();
    await expect(writer.append([{ topic: source.topic, partition: 0, key: null, value: null }])).rejects.toMatchObject({
      class: 'unavailable',
    });
    await broker.start();
    await serving(source);
    expect((await readAll({ reader, source, cursor: 49n, end: 99n, recordsMax: 10 })).offsets).toHaveLength(50);
    const [appended] = await writer.append([
      { topic: source.topic, partition: 0, key: null, value: Buffer.from('after') },
    ]);
    expect(appended?.offset).toBeGreaterThanOrEqual(100n);
    await Promise.all([reader.close(), writer.close()]);
  });

  it('D1, D4: keeps batches with an unknown codec and a flipped bit, and offsets above 2^53', async () => {
    const [unknownCodec, damaged, far, emptyTail] = [
      await topicWith(3),
      await topicWith(3),
      await topicWith(0),
      await topicWith(5),
    ];
    await broker.shutdown();
    const firstSegment = (source: Source): string => join(segmentFolder(source), `${segmentName(0n)}.log`);
    editFirstBatch(firstSegment(unknownCodec), (batch) => batch.writeInt16BE(5, ATTRIBUTES_AT), { sign: true });
    editFirstBatch(firstSegment(damaged), (batch) => batch.writeUInt8(batch.readUInt8(70) ^ 1, 70), { sign: false });
    const base = 9_007_199_254_740_990n;
    moveSegment(segmentFolder(far), 0n, base);
    // A second, empty segment far behind the first: between them nothing lives, as after a compaction that took it all.
    writeFileSync(join(segmentFolder(emptyTail), `${segmentName(50n)}.log`), '');
    await broker.start();
    await serving(unknownCodec, damaged, far, emptyTail);

    const reader = cluster.openReader();
    const stopOf = async (source: Source) => {
      const startedMs = performance.now();
      const { stop, cursor } = await readAll({ reader, source, end: 2n });
      expect(performance.now() - startedMs).toBeLessThan(30_000);
      return { stop, cursor };
    };
    expect(await stopOf(unknownCodec)).toMatchObject({
      cursor: -1n,
      stop: { kind: 'unreadable', offset: 0n, message: expect.stringContaining('codec 5') },
    });
    expect(await stopOf(damaged)).toMatchObject({
      cursor: -1n,
      stop: { kind: 'unreadable', offset: 0n, message: expect.stringContaining('checksum') },
    });

    await produce(
      far.topic,
      Array.from({ length: 10 }, (_, index) => ({ value: String(index) })),
      { kafka: broker.address },
    );
    const above = await readAll({ reader, source: far, cursor: 9_007_199_254_740_992n, end: 9_007_199_254_740_996n });
    expect(above.records.map(({ offset }) => offset.toString())).toEqual(
      ['3', '4', '5', '6'].map((digit) => `900719925474099${digit}`),
    );

    const [log] = await cluster.catalog.offsets({ ...emptyTail, partitionCount: 1 });
    expect(log?.highWatermark).toBe(50n);
    const tail = await readAll({ reader, source: emptyTail, end: 49n });
    expect([tail.offsets, tail.cursor]).toEqual([[0, 1, 2, 3, 4], 49n]);
    expect(tail.holes).toEqual([{ first: 5n, last: 49n, kind: 'compacted' }]);
    await reader.close();
  });
});
