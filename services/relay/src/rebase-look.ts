/** What a rebase finds: does the position fit, which keys move, and what the topics tell of the rows. Changes nothing. */
import type { Codec } from '@tidemark/contracts';
import type { Offset } from '@tidemark/keyspace';
import type { LogCluster, TopicDescription } from '@tidemark/log';
import {
  type Consents,
  countFates,
  type DatabaseIdentity,
  type Fitting,
  fatesOf,
  fitOf,
  movesOf,
  needsComparing,
  type Outbox,
  type PositionFit,
  planRebase,
  positionTopicOf,
  type RebasePlan,
  type RebaseRow,
  type RebaseStore,
  type RowFate,
  type Snapshot,
  sumFates,
  type TopicFates,
  type TopicMove,
} from '@tidemark/outbox';
import { stopped } from './errors.ts';
import { REBASE_CLOCKS_MS, REBASE_ROWS_MAX } from './limits.ts';
import { readPosition, type StoredPosition, timeOfSnapshot } from './position-topic.ts';
import { type ExtraEvents, scanForRows } from './rebase-scan.ts';

export interface LookOptions {
  readonly outbox: Pick<Outbox, 'reader' | 'lease'>;
  readonly store: RebaseStore;
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly namespace: string;
  /** Of the relay. */
  readonly name: string;
  readonly consents: Consents;
  /** Compare rows and topics although the position fits. */
  readonly compare: boolean;
  /** Where to begin to read topics. Default: an hour before the oldest row. */
  readonly scanFromMs?: bigint;
  /** To which time the database was restored. Default: when it last heard of a position. */
  readonly restoredToMs?: bigint;
}

/** A topic whose keys move, and by partition the offset from which on they may have. */
export interface MovedTopic extends TopicMove {
  readonly fromOffsets: readonly Offset[];
}

export interface RebaseReport extends RebasePlan {
  readonly fit: PositionFit;
  /** What became of the rows; empty when nothing was compared. */
  readonly topics: readonly TopicFates[];
  /** Undefined when it was not asked, or cannot be told since when. */
  readonly extra: ExtraEvents | undefined;
  readonly moves: readonly MovedTopic[];
  /** The one that spread the keys so far; undefined without a position. */
  readonly partitioner: string | undefined;
  readonly applied: boolean;
}

export interface Look {
  readonly report: RebaseReport;
  /** In the order of position, with one fate each. */
  readonly rows: readonly RebaseRow[];
  readonly fates: readonly RowFate[];
}

/** What can be told without reading the topics of events. */
export interface Judgement extends Fitting {
  readonly fit: PositionFit;
  readonly moves: readonly MovedTopic[];
  readonly stored: StoredPosition | undefined;
  readonly witness: Snapshot | undefined;
  /** Of the database that was looked at. */
  readonly identity: DatabaseIdentity;
  /** Of positions. */
  readonly topic: TopicDescription | undefined;
}

export async function judge(
  { outbox, store, cluster, codec, namespace, name }: LookOptions,
  signal: AbortSignal,
): Promise<Judgement> {
  // In this order, while a relay publishes: each of them knows no more than what is asked after it.
  const witness = await store.witness();
  const topic = await cluster.catalog.describe(positionTopicOf(namespace));
  const stored = topic === undefined ? undefined : await readPosition(cluster, codec, { topic, relay: name, signal });
  const now = await outbox.reader.state();
  const fit = fitOf({ stored: stored?.position, witness, now });
  const moves = await movedTopics(cluster, stored?.partitionCounts ?? {});
  return { fit, moves, partitioner: stored?.partitioner, stored, witness, identity: now.identity, topic };
}

export async function look(options: LookOptions, judgement: Judgement, signal: AbortSignal): Promise<Look> {
  const { compare, consents } = options;
  const { fit, moves, partitioner } = judgement;
  const { rows, fates, topics, extra } =
    compare || needsComparing(fit) ? await compareWithTopics(options, judgement, signal) : NOT_COMPARED;
  const plan = planRebase(judgement, { unknown: sumFates(topics).unknown, isAsked: compare }, consents);
  return { report: { ...plan, fit, moves, partitioner, topics, extra, applied: false }, rows, fates };
}

async function movedTopics(
  cluster: LogCluster,
  published: Readonly<Record<string, number>>,
): Promise<readonly MovedTopic[]> {
  const found = new Map<string, TopicDescription>();
  for (const name of Object.keys(published)) {
    const topic = await cluster.catalog.describe(name);
    if (topic !== undefined) found.set(name, topic);
  }
  const counts = new Map([...found].map(([name, { partitionCount }]) => [name, partitionCount]));
  const moved: MovedTopic[] = [];
  for (const move of movesOf(published, counts)) {
    const topic = found.get(move.topic);
    if (topic === undefined) continue;
    const offsets = await cluster.catalog.offsets(topic);
    moved.push({ ...move, fromOffsets: offsets.map(({ highWatermark }) => highWatermark) });
  }
  return moved;
}

interface Compared extends Pick<Look, 'rows' | 'fates'>, Pick<RebaseReport, 'topics' | 'extra'> {}

const NOT_COMPARED: Compared = { rows: [], fates: [], topics: [], extra: undefined };

async function compareWithTopics(options: LookOptions, known: Judgement, signal: AbortSignal): Promise<Compared> {
  const { cluster, namespace, store, scanFromMs } = options;
  const { rows, oldest } = await allRows(store);
  const extraSinceMs = options.restoredToMs ?? (await lastHeardMs(options, known, signal));
  const fromMs = new Map<string, bigint>();
  const reachBackTo = (topic: string, ms: bigint) => {
    const before = fromMs.get(topic);
    if (before === undefined || ms < before) fromMs.set(topic, ms);
  };
  for (const [topic, ms] of oldest) reachBackTo(topic, scanFromMs ?? ms - BigInt(REBASE_CLOCKS_MS));
  if (extraSinceMs !== undefined)
    for (const topic of Object.keys(known.stored?.partitionCounts ?? {})) reachBackTo(topic, extraSinceMs);
  const source = `/tidemark/${namespace}/outbox`;
  const ids = new Set(rows.map(({ id }) => id));
  const { extra, ...evidence } = await scanForRows({ cluster, source, ids, fromMs, extraSinceMs, signal });
  const fates = fatesOf(rows, evidence);
  return { rows, fates, topics: countFates(rows, fates, evidence), extra };
}

/**
 * A restored database remembers, in the lease row, the newest position it had heard of. What was committed and not
 * visible in it was still in the outbox, and so is restored with it. Hence an event that was published later and has no
 * row there belongs to a commit that was lost.
 */
async function lastHeardMs(
  { cluster, codec, name }: LookOptions,
  { fit, witness, topic }: Judgement,
  signal: AbortSignal,
): Promise<bigint | undefined> {
  if (fit.kind !== 'foreign' || witness === undefined || topic === undefined) return undefined;
  return timeOfSnapshot(cluster, codec, { topic, relay: name, snapshot: witness, signal });
}

interface AllRows {
  readonly rows: readonly RebaseRow[];
  /** By topic, in milliseconds. */
  readonly oldest: ReadonlyMap<string, bigint>;
}

async function allRows(store: RebaseStore): Promise<AllRows> {
  const rows: RebaseRow[] = [];
  const oldest = new Map<string, bigint>();
  const names = new Map<string, string>();
  for (;;) {
    const page = await store.rows(rows.at(-1)?.position ?? 0n);
    if (page.length === 0) return { rows, oldest };
    for (const { position, id, topic, key, occurredAtMs } of page) {
      const before = oldest.get(topic);
      if (before === undefined || occurredAtMs < before) oldest.set(topic, occurredAtMs);
      // One text a topic, not one a row.
      const name = names.get(topic) ?? topic;
      names.set(topic, name);
      rows.push({ position, id, topic: name, key, occurredAtMs });
    }
    if (rows.length > REBASE_ROWS_MAX)
      throw stopped(
        'OUTBOX_TOO_LARGE',
        `the outbox holds more than the ${REBASE_ROWS_MAX} rows that a rebase compares`,
      );
  }
}
