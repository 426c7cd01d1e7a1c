/** What the logs must keep, and for whom, read from Kafka and the store. */
import type { GuardView, JobState, LogWatch, SeriesState } from '@tidemark/contracts';
import type { Floor, FloorLook, FloorPlace, FloorStore } from '@tidemark/cursors';
import {
  auditDeadlineOf,
  auditedJobOf,
  type DurableMarks,
  isHeld,
  isHeldForAudit,
  isTerminal,
  jobOfHolder,
  type MarkLog,
  markKey,
} from '@tidemark/jobs';
import { type Offset, TidemarkError } from '@tidemark/keyspace';
import {
  type LogCluster,
  type LogReader,
  type PartitionOffsets,
  sampleBytesPerOffset,
  type TopicDescription,
} from '@tidemark/log';
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
  /** All of them, jobs, series and named groups, the lowest floor first; a group's is null while it is not known: it holds everything. */
  readonly heldBy: readonly Holding[];
  /** Epoch ms, when the job that holds most, or whose audit does, was pinned; null for other holders. */
  readonly sinceMs: bigint | null;
  /** From the floor to the end of the log. */
  readonly heldOffsets: bigint;
  /** Of these, payload, estimated from a few records. */
  readonly heldBytes: bigint;
  readonly state: RetentionState;
  /** What a guard made of the partition in a cycle not long ago; null when none has looked after it. */
  readonly guard: GuardSight | null;
  /** Jobs whose floor holds nothing here any more: they held for too long. From `fromOffset` on they may have lost what they had not read. */
  readonly released: LogWatch['releases'];
  /** What others removed, oldest first, and who needed which of it. */
  readonly removals: LogWatch['removals'];
}

export interface Holding {
  readonly holder: string;
  readonly floor: bigint | null;
  /** Of a hold for an audit; null for others. */
  readonly audit: {
    readonly jobId: string;
    /** Epoch ms; null while the job has not ended, which its time begins with. */
    readonly untilMs: bigint | null;
  } | null;
}

export interface GuardSight {
  /** Epoch ms. */
  readonly atMs: bigint;
  readonly outcome: string;
  readonly reason: string;
  /** Epoch ms, when the policy will reach the floor; null when it has, or it cannot be told. */
  readonly policyAtFloorAtMs: bigint | null;
  /** Epoch ms, when the first disk under the topic is full at the growth of the last cycles; null when none fills, or it cannot be told. */
  readonly diskFullAtMs: bigint | null;
}

export interface RetentionQuestion {
  readonly cluster: LogCluster;
  readonly jobLog: ControlParts['jobLog'];
  readonly floors: Pick<FloorStore, 'look'>;
  readonly marks: Pick<MarkLog, 'load'>;
  /** Empty: every topic that an unfinished job covers, or a series, or that is held for an audit, or was cut before. */
  readonly topics: readonly string[];
}

export type RetentionView =
  | { readonly kind: 'rows'; readonly rows: readonly RetentionRow[] }
  | { readonly kind: 'topic not found'; readonly topic: string };

export async function viewRetention(question: RetentionQuestion): Promise<RetentionView> {
  const { catalog } = question.cluster;
  const isAsked = question.topics.length > 0;
  const durable = await durableMarks(question.marks);
  const { states, series } = await question.jobLog.jobsAndSeries();
  const reader = question.cluster.openReader();
  try {
    const rows: RetentionRow[] = [];
    for (const topic of isAsked ? question.topics : topicsOfInterest(states, series, durable)) {
      const description = await catalog.describe(topic);
      if (description === undefined && isAsked) return { kind: 'topic not found', topic };
      if (description === undefined) continue;
      const view = durable.views.get(topic);
      const current = view?.topicId === description.topicId ? view : undefined;
      const groups = await groupsNow(question.cluster, description, current);
      for (const offsets of await catalog.offsets(description)) {
        const place = { topic, topicId: description.topicId, partition: offsets.partition };
        const look = await question.floors.look(place);
        const known = { place, offsets, look, groups: groups(offsets.partition), view: current, durable, states };
        rows.push(await rowOf(reader, known));
      }
    }
    return { kind: 'rows', rows };
  } finally {
    await reader.close();
  }
}

function topicsOfInterest(
  states: ReadonlyMap<string, JobState>,
  series: ReadonlyMap<string, SeriesState>,
  { marks, views }: Pick<DurableMarks, 'marks' | 'views'>,
): readonly string[] {
  const topics = new Set<string>(views.keys());
  for (const state of states.values())
    if (!isTerminal(state.state) || isHeldForAudit(state)) topics.add(state.request.topic);
  for (const state of series.values()) if (isHeld(state)) topics.add(state.definition.request.topic);
  for (const { topic } of marks.values()) topics.add(topic);
  return [...topics].sort();
}

/** Before the first distributor there is no marks topic, and looking creates none. */
async function durableMarks(log: Pick<MarkLog, 'load'>): Promise<DurableMarks> {
  try {
    return await log.load();
  } catch (error) {
    if (error instanceof TidemarkError && error.code === 'OWN_TOPIC_BROKEN')
      return { marks: new Map(), watches: new Map(), views: new Map(), store: undefined };
    throw error;
  }
}

interface GroupNow {
  readonly group: string;
  /** Undefined when it has committed nothing, or cannot be read. */
  readonly offset: Offset | undefined;
}

/** The guard's view names the groups; where they go on is asked now. */
async function groupsNow(
  { catalog }: Pick<LogCluster, 'catalog'>,
  topic: TopicDescription,
  view: GuardView | undefined,
): Promise<(partition: number) => readonly GroupNow[]> {
  const names = new Set(view?.partitions.flatMap(({ groups }) => groups.map(({ group }) => group)));
  const committed: { readonly group: string; readonly offsets: readonly (Offset | undefined)[] }[] = [];
  for (const group of names)
    committed.push({ group, offsets: await catalog.committedOffsets(group, topic).catch(() => []) });
  return (partition) => committed.map(({ group, offsets }) => ({ group, offset: offsets[partition] }));
}

interface Known {
  readonly place: FloorPlace;
  readonly offsets: PartitionOffsets;
  readonly look: FloorLook | undefined;
  readonly groups: readonly GroupNow[];
  readonly view: GuardView | undefined;
  readonly durable: DurableMarks;
  readonly states: ReadonlyMap<string, JobState>;
}

async function rowOf(reader: LogReader, known: Known): Promise<RetentionRow> {
  const { place, offsets, groups, durable, states } = known;
  const watch = durable.watches.get(markKey(place));
  const released = (watch?.releases ?? []).filter(({ holder, atMs }) => {
    const pinnedAtMs = states.get(jobOfHolder(holder))?.pin?.pinnedAtMs;
    return pinnedAtMs !== undefined && pinnedAtMs <= atMs; // a later job of the same name was not released
  });
  const { logStartOffset, highWatermark } = offsets;
  const look = withGroups(known, new Set(released.map(({ holder }) => holder)));
  // The store's clock is not asked for: ours may show a reservation a little too long or too short, and decides nothing.
  const { state, mark, floor, holders, heldOffsets = 0n } = retentionOf({ offsets, look, storeNowMs: Date.now() });
  const perOffset = heldOffsets === 0n ? 0 : await sampleBytesPerOffset(reader, place, offsets);
  const unknown = new Set(groups.filter(({ offset }) => offset === undefined).map(({ group }) => `group ${group}`));
  return {
    topic: place.topic,
    partition: place.partition,
    logStartOffset,
    highWatermark,
    mark: mark ?? null,
    floor: floor?.offset ?? null,
    holder: floor?.holder ?? null,
    holders: holders.length,
    heldBy: holders.map(({ holder, offset }) => ({
      holder,
      floor: unknown.has(holder) ? null : offset,
      audit: auditOf(holder, states),
    })),
    sinceMs: (floor === undefined ? undefined : states.get(jobOfHolder(floor.holder))?.pin?.pinnedAtMs) ?? null,
    heldOffsets,
    heldBytes: BigInt(Math.round(Number(heldOffsets) * perOffset)),
    state,
    guard: sightOf(known),
    released,
    removals: watch?.removals ?? [],
  };
}

function auditOf(holder: string, states: Known['states']): Holding['audit'] {
  const jobId = auditedJobOf(holder);
  if (jobId === undefined) return null;
  const state = states.get(jobId);
  return { jobId, untilMs: (state === undefined ? undefined : auditDeadlineOf(state)) ?? null };
}

/** As the guard counts: a group whose place is not known holds from the log start on, and a released floor holds nothing. */
function withGroups({ look, groups, offsets }: Known, released: ReadonlySet<string>): FloorLook | undefined {
  if (look === undefined) return undefined;
  const more = groups.map(
    ({ group, offset }): Floor => ({
      holder: `group ${group}`,
      offset: offset ?? offsets.logStartOffset,
      reservedUntilMs: undefined,
    }),
  );
  return { ...look, floors: [...look.floors.filter(({ holder }) => !released.has(holder)), ...more] };
}

function sightOf({ view, place }: Known): GuardSight | null {
  const seen = view?.partitions.find(({ partition }) => partition === place.partition);
  if (view === undefined || seen === undefined) return null;
  const { outcome, reason, policyAtFloorAtMs } = seen;
  const full = view.disks.flatMap(({ fullAtMs }) => (fullAtMs === null ? [] : [Number(fullAtMs)]));
  const diskFullAtMs = full.length === 0 ? null : BigInt(Math.min(...full));
  return { atMs: view.atMs, outcome, reason, policyAtFloorAtMs, diskFullAtMs };
}
