/** What the logs must keep, and for whom, read from Kafka and the store. */
import type { FloorLook, FloorPlace, FloorStore } from '@tidemark/cursors';
import { isTerminal, type MarkLog } from '@tidemark/jobs';
import { TidemarkError } from '@tidemark/keyspace';
import { type LogCluster, type LogReader, type PartitionOffsets, sampleBytesPerOffset } from '@tidemark/log';
import type { ControlParts } from './parts.ts';
import { type RetentionState, retentionOf } from './retention.ts';

export interface RetentionRow {
  readonly topic: string;
  readonly partition: number;
  readonly logStartOffset: bigint;
  readonly highWatermark: bigint;
  /** Below it nothing is promised any more; null while the store is not filled here. */
  readonly mark: bigint | null;
  /** The lowest floor, and who holds it; null when nobody does. */
  readonly floor: bigint | null;
  readonly holder: string | null;
  readonly holders: number;
  /** From the floor to the end of the log. */
  readonly heldOffsets: bigint;
  /** Of these, payload, estimated from a few records. */
  readonly heldBytes: bigint;
  readonly state: RetentionState;
}

export interface RetentionQuestion {
  readonly cluster: LogCluster;
  readonly jobLog: ControlParts['jobLog'];
  readonly floors: Pick<FloorStore, 'look'>;
  readonly marks: Pick<MarkLog, 'load'>;
  /** Empty: every topic that an unfinished job covers, or that was cut before. */
  readonly topics: readonly string[];
}

export type RetentionView =
  | { readonly kind: 'rows'; readonly rows: readonly RetentionRow[] }
  | { readonly kind: 'topic not found'; readonly topic: string };

export async function viewRetention(question: RetentionQuestion): Promise<RetentionView> {
  const { catalog } = question.cluster;
  const isAsked = question.topics.length > 0;
  const reader = question.cluster.openReader();
  try {
    const rows: RetentionRow[] = [];
    for (const topic of isAsked ? question.topics : await topicsOfInterest(question)) {
      const description = await catalog.describe(topic);
      if (description === undefined && isAsked) return { kind: 'topic not found', topic };
      if (description === undefined) continue;
      for (const offsets of await catalog.offsets(description)) {
        const place = { topic, topicId: description.topicId, partition: offsets.partition };
        rows.push(await rowOf(reader, { place, offsets, look: await question.floors.look(place) }));
      }
    }
    return { kind: 'rows', rows };
  } finally {
    await reader.close();
  }
}

async function topicsOfInterest({ jobLog, marks }: RetentionQuestion): Promise<readonly string[]> {
  const topics = new Set<string>();
  for (const state of (await jobLog.states()).values()) if (!isTerminal(state.state)) topics.add(state.request.topic);
  for (const topic of await cutTopics(marks)) topics.add(topic);
  return [...topics].sort();
}

/** Before the first distributor there is no marks topic, and looking creates none. */
async function cutTopics(marks: Pick<MarkLog, 'load'>): Promise<readonly string[]> {
  try {
    return [...(await marks.load()).marks.values()].map(({ topic }) => topic);
  } catch (error) {
    if (error instanceof TidemarkError && error.code === 'OWN_TOPIC_BROKEN') return [];
    throw error;
  }
}

async function rowOf(
  reader: LogReader,
  known: { readonly place: FloorPlace; readonly offsets: PartitionOffsets; readonly look: FloorLook | undefined },
): Promise<RetentionRow> {
  const { place, offsets, look } = known;
  const { logStartOffset, highWatermark } = offsets;
  // The store's clock is not asked for: ours may show a reservation a little too long or too short, and decides nothing.
  const { state, mark, floor, holders, heldOffsets = 0n } = retentionOf({ offsets, look, storeNowMs: Date.now() });
  const perOffset = heldOffsets === 0n ? 0 : await sampleBytesPerOffset(reader, place, offsets);
  return {
    topic: place.topic,
    partition: place.partition,
    logStartOffset,
    highWatermark,
    mark: mark ?? null,
    floor: floor?.offset ?? null,
    holder: floor?.holder ?? null,
    holders: holders.length,
    heldOffsets,
    heldBytes: BigInt(Math.round(Number(heldOffsets) * perOffset)),
    state,
  };
}
