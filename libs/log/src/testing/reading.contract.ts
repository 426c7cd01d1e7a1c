import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { FETCH_WAIT_MS_MAX } from '../limits.ts';
import { HoleKind } from '../ports.ts';
import { append, type LogHarness, numbered, recordFor, refusal, sourceOf } from './contract-harness.ts';
import { readAll, WRITTEN_WAIT_MS } from './read-all.ts';

/** A reader that answered only when this is over would not answer. A broker holds a read for less, and then says "end of log". */
const LONGER_THAN_THE_TEST_MS = 600_000;

export function readingContract(harness: () => LogHarness): void {
  it('returns bytes, headers and times as they were written', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    const headers: [string, Buffer | null][] = [
      ['b', Buffer.from([0, 255])],
      ['1', null],
      ['a', Buffer.alloc(0)],
      ['b', Buffer.from('again')],
    ];
    const written = [
      { key: null, value: null, headers: [], timestampMs: 1_700_000_000_123n },
      { key: Buffer.alloc(0), value: Buffer.alloc(0), headers, timestampMs: 1_700_000_000_000n },
      { key: Buffer.from([0, 255, 254]), value: Buffer.from('null'), headers: [], timestampMs: 1_700_000_000_001n },
    ];
    await append(
      cluster,
      written.map((record) => ({ topic: topic.topic, partition: 0, ...record })),
    );
    const reader = cluster.openReader();
    const { records } = await readAll({ reader, source: sourceOf(topic), end: 2n });
    await reader.close();
    expect(records).toEqual(written.map((record, index) => ({ offset: toOffset(index), ...record })));
  });

  it('A6: reads exactly the window, in chunks of at most so many records', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    await append(cluster, numbered(topic, 0, 10));
    const reader = cluster.openReader();
    const { offsets, chunks, cursor } = await readAll({
      reader,
      source: sourceOf(topic),
      cursor: 3n,
      end: 7n,
      recordsMax: 3,
    });
    expect([offsets, chunks.length, cursor]).toEqual([[4, 5, 6, 7], 2, 7n]);
    // The same reader goes back when it is asked to: a chunk may be read again.
    expect((await readAll({ reader, source: sourceOf(topic), cursor: 3n, end: 5n })).offsets).toEqual([4, 5]);
    expect(
      await reader.read({
        source: sourceOf(topic),
        cursor: toOffset(7),
        end: toOffset(7),
        recordsMax: 1,
        bytesMax: 1,
        waitMs: 0,
      }),
    ).toEqual({
      kind: 'chunk',
      chunk: { start: 7n, end: 7n, records: [], holes: [], bytes: 0 },
    });
    await reader.close();
  });

  it('A7: bounds the bytes of a chunk, and gives a larger record a chunk of its own', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    await append(
      cluster,
      ['a', 'b', 'x'.repeat(200_000), 'c'].map((value) => recordFor(topic, value)),
    );
    const reader = cluster.openReader();
    const { chunks } = await readAll({ reader, source: sourceOf(topic), end: 3n, bytesMax: 100_000 });
    await reader.close();
    expect(chunks.map(({ records, bytes }) => [records.length, bytes])).toEqual([
      [2, 2],
      [1, 200_000],
      [1, 1],
    ]);
  });

  it('A5: ends at the end of the log, in an empty partition at once', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic({ partitionCount: 2 });
    await append(cluster, numbered(topic, 0, 2));
    const reader = cluster.openReader();
    const beyond = await readAll({ reader, source: sourceOf(topic, 0), end: 9n, waitMs: 0 });
    const empty = await readAll({ reader, source: sourceOf(topic, 1), end: 9n, waitMs: 0 });
    await reader.close();
    expect([beyond.offsets, beyond.stop]).toEqual([[0, 1], { kind: 'end of log', highWatermark: 2n }]);
    expect([empty.offsets, empty.stop]).toEqual([[], { kind: 'end of log', highWatermark: 0n }]);
  });

  it('waits at the end of the log, and answers when something comes', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    const reader = cluster.openReader();
    const request = { source: sourceOf(topic), cursor: toOffset(-1), end: toOffset(9), recordsMax: 9, bytesMax: 999 };
    const waited = async () => {
      for (;;) {
        const startedMs = performance.now();
        const answer = await reader.read({ ...request, waitMs: LONGER_THAN_THE_TEST_MS });
        if (answer.kind !== 'end of log' || performance.now() - startedMs < FETCH_WAIT_MS_MAX / 2) return answer;
      }
    };
    const waiting = waited();
    await append(cluster, numbered(topic, 0, 1));
    expect(await waiting).toMatchObject({ kind: 'chunk', chunk: { end: 0n } });
    await reader.close();
  });

  it('gives up a waiting read when the signal aborts, and can be used again', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    const reader = cluster.openReader();
    const giveUp = new AbortController();
    const request = { source: sourceOf(topic), cursor: toOffset(-1), end: toOffset(9), recordsMax: 9, bytesMax: 999 };
    const waiting = refusal(reader.read({ ...request, waitMs: 60_000, signal: giveUp.signal }));
    giveUp.abort();
    expect(await waiting).toMatchObject({ class: 'unavailable', code: 'ABORTED' });
    await append(cluster, numbered(topic, 0, 1));
    expect(await reader.read({ ...request, waitMs: 1_000 })).toMatchObject({ kind: 'chunk', chunk: { end: 0n } });
    await reader.close();
  });
}

export function transactionContract(harness: () => LogHarness): void {
  it('A1: a commit marker is the last offset, and the window ends on it', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    const transaction = await harness().begin();
    await transaction.append(numbered(topic, 0, 3));
    await transaction.commit();
    const reader = cluster.openReader();
    const { offsets, cursor, holes, chunks } = await readAll({
      reader,
      source: sourceOf(topic),
      end: 3n,
      recordsMax: 2,
      waitMs: WRITTEN_WAIT_MS,
    });
    await reader.close();
    expect([offsets, cursor, chunks.length]).toEqual([[0, 1, 2], 3n, 2]);
    expect(holes).toEqual([{ first: 3n, last: 3n, kind: HoleKind.marker }]);
  });

  it('names the open transaction that holds the log, and reads on when it ends', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    await append(cluster, numbered(topic, 0, 2));
    const open = await harness().begin();
    await open.append(numbered(topic, 2, 1));
    await append(cluster, numbered(topic, 3, 2));
    const reader = cluster.openReader();
    const held = await readAll({ reader, source: sourceOf(topic), end: 4n, waitMs: 50 });
    expect([held.offsets, held.stop]).toEqual([
      [0, 1],
      { kind: 'open transaction', lastStableOffset: 2n, highWatermark: 5n },
    ]);
    expect(await cluster.catalog.offsets(topic)).toEqual([
      { partition: 0, logStartOffset: 0n, lastStableOffset: 2n, highWatermark: 5n },
    ]);
    await open.abort();
    const { offsets, holes } = await readAll({
      reader,
      source: sourceOf(topic),
      cursor: 1n,
      end: 5n,
      waitMs: WRITTEN_WAIT_MS,
    });
    await reader.close();
    expect(offsets).toEqual([3, 4]);
    expect(holes).toEqual([
      { first: 2n, last: 2n, kind: HoleKind.marker },
      { first: 5n, last: 5n, kind: HoleKind.marker },
    ]);
  });

  it('A9: aborts that complete in the other order than they began do not hide what is committed between', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    const [a, b, c] = [await harness().begin(), await harness().begin(), await harness().begin()];
    await a.append(numbered(topic, 0, 2));
    await b.append(numbered(topic, 2, 2));
    await b.abort();
    await a.abort();
    await c.append(numbered(topic, 4, 2));
    await c.commit();
    const reader = cluster.openReader();
    const { records, cursor } = await readAll({
      reader,
      source: sourceOf(topic),
      end: 8n,
      recordsMax: 2,
      waitMs: WRITTEN_WAIT_MS,
    });
    await reader.close();
    const [offsets] = await cluster.catalog.offsets(topic); // the marker comes after the commit has answered, but was read by now
    expect(records.map(({ value }) => value?.toString())).toEqual(['4', '5']);
    expect([cursor, offsets?.highWatermark]).toEqual([8n, 9n]);
  });
}

export function verdictContract(harness: () => LogHarness): void {
  it('B1: tells what was removed below the reader, clipped to the window', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    const source = sourceOf(topic);
    await append(cluster, numbered(topic, 0, 100));
    await cluster.catalog.deleteRecordsBefore(source, toOffset(50));
    // A reader of its own: one that read before may still have, and deliver, what the log no longer holds.
    const reader = cluster.openReader();
    expect((await readAll({ reader, source, cursor: 19n, end: 99n })).stop).toEqual({
      kind: 'lost',
      first: 20n,
      last: 49n,
      logStartOffset: 50n,
    });
    expect((await readAll({ reader, source, cursor: 49n, end: 99n })).offsets).toHaveLength(50);
    await cluster.catalog.deleteRecordsBefore(source, toOffset(100));
    expect((await readAll({ reader, source, cursor: 19n, end: 99n })).stop).toEqual({
      kind: 'lost',
      first: 20n,
      last: 99n,
      logStartOffset: 100n,
    });
    await reader.close();
  });

  it('B6: tells that the log is shorter than the cursor', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    await append(cluster, numbered(topic, 0, 3));
    const reader = cluster.openReader();
    expect((await readAll({ reader, source: sourceOf(topic), cursor: 8n, end: 20n })).stop).toEqual({
      kind: 'log went back',
      highWatermark: 3n,
    });
    await reader.close();
  });

  it('B3: tells a missing topic from one that was recreated, and brings neither back', async () => {
    const { cluster } = harness();
    const topic = await harness().createTopic();
    const source = sourceOf(topic);
    const reader = cluster.openReader();
    await append(cluster, numbered(topic, 0, 2));
    expect((await readAll({ reader, source, end: 0n })).offsets).toEqual([0]);
    await harness().deleteTopic(topic.topic);
    expect((await readAll({ reader, source, cursor: 1n, end: 5n })).stop).toEqual({ kind: 'topic missing' });
    expect(await cluster.catalog.describe(topic.topic)).toBeUndefined();
    expect(await refusal(append(cluster, numbered(topic, 0, 1)))).toMatchObject({
      class: 'unavailable',
      code: 'TOPIC_NOT_FOUND',
    });
    expect(await cluster.catalog.describe(topic.topic)).toBeUndefined();
    const again = await cluster.catalog.ensure({
      topic: topic.topic,
      partitionCount: 1,
      replicationFactor: 1,
      configs: {},
    });
    expect((await readAll({ reader, source, cursor: 1n, end: 5n })).stop).toEqual({
      kind: 'topic recreated',
      topicId: again.topicId,
    });
    expect(await refusal(cluster.catalog.offsets(topic))).toMatchObject({ class: 'lost', code: 'TOPIC_RECREATED' });
    expect(await refusal(cluster.catalog.deleteRecordsBefore(source, toOffset(1)))).toMatchObject({
      class: 'lost',
      code: 'TOPIC_RECREATED',
    });
    await reader.close();
  });
}
