/** How far the outbox is published, and what waits: the position from Kafka, the rest from Postgres. */
import { type ParkedKey, type RelayPosition, readRecord, SchemaName } from '@tidemark/contracts';
import { cursorBefore, type Offset, sleep, toOffset } from '@tidemark/keyspace';
import type { LogCatalog, PartitionOffsets, TopicDescription } from '@tidemark/log';
import {
  type Backlog,
  type Blocker,
  type Outbox,
  type OutboxPosition,
  positionOfRecord,
  positionTopicOf,
} from '@tidemark/outbox';
import { SETTLE_LOOK_MS, TAIL_OFFSETS_FIRST, TAIL_WIDENING } from './limits.ts';
import type { ControlParts } from './parts.ts';
import { readWindow } from './read-window.ts';

/**
 * The newest position of the relay, undefined before the first one. It is looked for at the end of its topic, in ever
 * larger pieces: a busy relay writes many positions a second, and compaction comes an hour later. Without a name: of the
 * relay that wrote last. What is being committed at this moment is waited for, for `settleMs` at most.
 */
export async function newestRelayPosition(
  parts: Pick<ControlParts, 'cluster' | 'codec' | 'namespace'>,
  relay: string | undefined,
  { settleMs = 0 }: { readonly settleMs?: number } = {},
): Promise<RelayPosition | undefined> {
  const { catalog } = parts.cluster;
  const topic = await catalog.describe(positionTopicOf(parts.namespace));
  if (topic === undefined) return undefined;
  for (const partition of await settledOffsets(catalog, topic, settleMs)) {
    const value = await newestValue(parts, { topic, partition, key: relay });
    if (value !== undefined) return readRecord(await parts.codec.decode(value), SchemaName.relayPosition);
  }
  return undefined;
}

/** The last stable offset of each partition has reached what was its high watermark, or the time is over. */
async function settledOffsets(
  catalog: Pick<LogCatalog, 'offsets'>,
  topic: TopicDescription,
  settleMs: number,
): Promise<readonly PartitionOffsets[]> {
  const first = await catalog.offsets(topic);
  const deadlineMs = performance.now() + settleMs;
  for (let now = first; ; now = await catalog.offsets(topic)) {
    const isSettled = now.every(
      ({ lastStableOffset }, index) => lastStableOffset >= (first[index]?.highWatermark ?? 0n),
    );
    if (isSettled || performance.now() >= deadlineMs) return now;
    await sleep(SETTLE_LOOK_MS);
  }
}

async function newestValue(
  parts: Pick<ControlParts, 'cluster'>,
  place: {
    readonly topic: TopicDescription;
    readonly partition: PartitionOffsets;
    readonly key: string | undefined;
  },
): Promise<Buffer | undefined> {
  const { partition, logStartOffset, lastStableOffset } = place.partition;
  const first = cursorBefore(logStartOffset);
  let end = cursorBefore(lastStableOffset);
  for (let size = TAIL_OFFSETS_FIRST; end > first; size *= TAIL_WIDENING) {
    const start: Offset = end - first > size ? toOffset(end - size) : first;
    let newest: Buffer | undefined;
    for await (const item of readWindow(parts.cluster, place.topic, [{ partition, start, end }])) {
      if (item.kind !== 'record' || item.record.value === null) continue;
      if (place.key === undefined || item.record.key?.toString() === place.key) newest = item.record.value;
    }
    if (newest !== undefined) return newest;
    end = start;
  }
  return undefined;
}

export interface ParkedKeyView extends ParkedKey {
  /** That wait, with the first, which cannot be sent. */
  readonly rows: number;
}

export interface OutboxView {
  /** Who publishes now; undefined when nobody does. */
  readonly publisher: string | undefined;
  /** Undefined before anything was published. */
  readonly backlog: Backlog | undefined;
  readonly blockers: readonly Blocker[];
  /** Keys of which nothing is sent, because their first row cannot be. Their rows are not in the backlog. */
  readonly parked: readonly ParkedKeyView[];
}

/** Throws TidemarkError `config` where no outbox is installed, `unavailable` when the database does not answer. */
export async function viewOutbox(
  outbox: Pick<Outbox, 'reader' | 'lease'>,
  position: RelayPosition | undefined,
): Promise<OutboxView> {
  await outbox.reader.checkInstalled();
  const published = position === undefined ? undefined : positionOfRecord(position);
  return {
    publisher: (await outbox.lease.holder())?.owner,
    backlog: published === undefined ? undefined : await outbox.reader.backlog(published),
    blockers: await outbox.reader.blockers(),
    parked: published === undefined ? [] : await viewParked(outbox, published, position?.parked ?? []),
  };
}

async function viewParked(
  { reader }: Pick<Outbox, 'reader'>,
  published: OutboxPosition,
  parked: readonly ParkedKey[],
): Promise<readonly ParkedKeyView[]> {
  const rows = await reader.countTails(published, parked);
  return parked.map((key, index) => ({ ...key, rows: rows[index] ?? 0 }));
}
