/**
 * One session of the distributor over its shard of jobs: the fenced journal, what is durable, and the store it fills.
 * A session ends with the first failed commit, because nobody knows what became of it; the next one reads everything anew.
 */
import type { Codec, JobEvent, JobState, RangeCheckpoint, SeriesState, StoreEpoch } from '@tidemark/contracts';
import { type CursorStore, type FloorStore, HIGHEST_PRIORITY, type Leadership, type Schedule } from '@tidemark/cursors';
import { type DeadRequest, type JobInbox, type JobJournal, type JobRemoval, jobTopicSpecs } from '@tidemark/jobs';
import { createJobInbox, createMarkLog, openJobJournal } from '@tidemark/jobs/kafka';
import { ErrorClass, monotonicNowMs, type Offset, TidemarkError } from '@tidemark/keyspace';
import type { LogCluster } from '@tidemark/log';
import type { Logger, Metrics } from '@tidemark/observability';
import type { BreakerWait } from './breaker-waits.ts';
import type { LookOptions } from './inspection.ts';
import { JobBook, type LiveJob } from './job-book.ts';
import { createPatience, type Patience } from './patience.ts';
import type { Keeping } from './removal-plan.ts';
import { firstRemovalTurn, type RemovalTurn } from './removal-turn.ts';
import { SeriesBook } from './series-book.ts';
import { createShardFloors, type ShardFloors } from './shard-floors.ts';
import { standingNeeds } from './standing-needs.ts';
import type { OnStep } from './steps.ts';
import type { Tries, WaitingRequest } from './tries.ts';

export interface DistributorParts {
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly store: CursorStore;
  readonly schedule: Schedule;
  readonly floors: FloorStore;
  readonly namespace: string;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  readonly replicationFactor: number;
  readonly checkpointEveryMs: number;
  readonly openTransactionDeadlineMs: number;
  /** How long a job may wait for a dependency whose breaker is open. */
  readonly breakerDeadlineMs: number;
  /** How long a pause or cancel waits for what is being handled, unless the command says otherwise; and a suspension. */
  readonly drainDeadlineMs: number;
  /** How long after a restore no range is cut. */
  readonly splitQuietMs: number;
  /** How often floors are looked for that somebody removed, and partitions that were added to the topics of series. */
  readonly floorsLookEveryMs: number;
  /** How long a request may wait for a topic that does not answer. */
  readonly pinDeadlineMs: number;
  readonly keeping: Keeping;
  /** How often jobs are looked for that may be forgotten. */
  readonly removalEveryMs: number;
  /** How old the proof may be that no younger distributor has fenced this one, when workers are let at a job. */
  readonly proofTrustMs: number;
  /**
   * Who of several replicas works. Left out, this one works at once and ends when a younger one has fenced it: it could not
   * know when to come back.
   */
  readonly leadership: Leadership | undefined;
  readonly leadershipTtlMs: number;
  readonly onStep: OnStep;
  /** Requests that made a transaction fail, by offset: the next session puts them aside instead of failing again. */
  readonly poison: Map<bigint, PoisonedRequest>;
  /** Series whose run made a transaction fail, by name, with the reason: the next session stops them instead of failing again. */
  readonly poisonedSeries: Map<string, string>;
  /** Ids of our topics as the first session found them. */
  readonly topicIds: Map<string, string>;
  readonly isStarted: () => boolean;
  /** When the last round of checkpoints was over, on the monotonic clock. */
  readonly progress: { checkpointAtMs: number | undefined };
  readonly metrics: Pick<Metrics, 'jobs' | 'checkpointAgeSeconds'> | undefined;
}

export interface PoisonedRequest {
  readonly failures: number;
  readonly reason: string;
}

/** The life of the store that this session fills, under the epoch it announced in Kafka. */
export interface StoreLife {
  readonly epoch: Offset;
  readonly incarnation: string;
}

export interface Shard {
  readonly parts: DistributorParts;
  readonly signal: AbortSignal;
  readonly journal: JobJournal;
  readonly inbox: JobInbox;
  /** The youngest announcement before this session that a store would be filled. */
  readonly epochBefore: StoreEpoch | undefined;
  readonly book: JobBook;
  readonly series: SeriesBook;
  /** By name: a topic that does not answer is asked again with backoff. */
  readonly seriesTries: Map<string, Tries>;
  /** By topic id, of the topics of series. */
  readonly partitionCounts: Map<string, number>;
  /** On the monotonic clock. */
  partitionsSeenAtMs: number | undefined;
  readonly patience: Patience;
  readonly floors: ShardFloors;
  life: StoreLife | undefined;
  /** One transaction at a time: jobs are looked after several at once, the journal is one session. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** When the last acknowledged commit began, on the monotonic clock: until then nobody had fenced us. */
  provenAtMs: number;
  /** The request that cannot be pinned yet; the position stays before it. */
  waiting: WaitingRequest | undefined;
  /** Offsets of commands behind it that were applied already. */
  readonly appliedAhead: Set<bigint>;
  /** Jobs that were in a store before this session filled or found them: not to be cut until then, on the monotonic clock. */
  readonly splitAfterMs: Map<string, number>;
  breakerWaits: ReadonlyMap<string, BreakerWait>;
  /** Jobs that hold a log for longer than they may, as a guard says; as of the last time that jobs were listed again. */
  hurried: ReadonlySet<string>;
  /** Jobs about to be suspended, and since when what is being handled is waited for. */
  readonly settlingSinceMs: Map<string, number>;
  /** Rounds of checkpoints so far. */
  rounds: number;
  removal: RemovalTurn;
}

/** Creates our topics where they are missing, fences every older distributor, and reads what is durable. */
export async function openShard(parts: DistributorParts, signal: AbortSignal): Promise<Shard> {
  const { cluster, codec, namespace } = parts;
  await ensureTopics(parts);
  const journal = await openJobJournal({ cluster, codec, namespace, transactionalId: `${namespace}.distributor.0` });
  try {
    const durable = await journal.load(signal);
    const book = new JobBook(durable);
    const series = new SeriesBook(durable.series);
    const partitionCounts = new Map<string, number>();
    const patience = createPatience({ logger: parts.logger, signal, isPatient: parts.isStarted });
    const inbox = createJobInbox({ cluster, codec, namespace });
    const marks = createMarkLog({ cluster, codec, namespace });
    const shard: Shard = {
      parts,
      signal,
      journal,
      inbox,
      epochBefore: durable.epoch,
      book,
      series,
      seriesTries: new Map(),
      partitionCounts,
      partitionsSeenAtMs: undefined,
      patience,
      floors: createShardFloors({
        store: parts.floors,
        cursors: parts.store,
        loadMarks: marks.load,
        prove: (trustMs = parts.proofTrustMs) => ensureProven(shard, trustMs),
        standingNeeds: () => standingNeeds({ series, book, partitionCounts }),
        book,
        patience,
      }),
      life: undefined,
      inTurn: createTurns(),
      provenAtMs: 0,
      waiting: undefined,
      appliedAhead: new Set(),
      splitAfterMs: new Map(),
      breakerWaits: new Map(),
      hurried: new Set(),
      settlingSinceMs: new Map(),
      rounds: 0,
      removal: firstRemovalTurn(),
    };
    return shard;
  } catch (error) {
    await journal.close();
    throw error;
  }
}

/** A topic that went away while we ran took jobs with it: an empty new one must not pass for the state of the jobs. */
async function ensureTopics(parts: DistributorParts): Promise<void> {
  const { catalog } = parts.cluster;
  for (const spec of Object.values(jobTopicSpecs(parts.namespace, parts.replicationFactor))) {
    const known = parts.topicIds.get(spec.topic);
    const found = known === undefined ? await catalog.ensure(spec) : await catalog.describe(spec.topic);
    if (known !== undefined && found?.topicId !== known) {
      throw new TidemarkError({
        code: 'OWN_TOPIC_REPLACED',
        class: ErrorClass.config,
        message: `topic ${spec.topic} was deleted${found === undefined ? '' : ' and created again'} while jobs were running; it held their durable state`,
        context: { topic: spec.topic },
      });
    }
    if (found !== undefined) parts.topicIds.set(spec.topic, found.topicId);
  }
}

export async function closeShard(shard: Shard): Promise<void> {
  await Promise.allSettled([shard.inbox.close(), shard.journal.close()]);
}

/** What a transaction changes of one job. `moved` = its state is written, too. */
export interface JobChange {
  readonly state: JobState;
  readonly moved: boolean;
  readonly events: readonly JobEvent[];
  readonly checkpoints: readonly RangeCheckpoint[];
  /** Of the series whose run it is. */
  readonly series?: SeriesState;
}

/**
 * One Kafka transaction, with the position in the jobs topic; the book follows the acknowledgement. All states in it carry
 * the same `atMs` as the position: that is how a start finds the jobs whose keys a crash may have left behind.
 */
export function commit(shard: Shard, contents: CommitContents): Promise<void> {
  return shard.inTurn(() => commitNow(shard, contents));
}

interface CommitContents {
  readonly atMs: number;
  readonly changes?: readonly JobChange[];
  readonly series?: readonly SeriesState[];
  readonly events?: readonly JobEvent[];
  readonly deadLetters?: readonly DeadRequest[];
  readonly removals?: readonly JobRemoval[];
  readonly store?: StoreEpoch;
}

async function commitNow(shard: Shard, options: CommitContents): Promise<void> {
  const { journal, book, patience } = shard;
  const changes = options.changes ?? [];
  const seriesStates = [...changes.flatMap(({ series }) => series ?? []), ...(options.series ?? [])];
  const entry = {
    series: seriesStates,
    states: changes.filter(({ moved }) => moved).map(({ state }) => state),
    events: [...changes.flatMap(({ events }) => events), ...(options.events ?? [])],
    checkpoints: changes.flatMap(({ checkpoints }) => checkpoints),
    deadLetters: options.deadLetters ?? [],
    removals: options.removals ?? [],
    ...(options.store === undefined ? {} : { store: options.store }),
    position: { formatVersion: 1, partition: 0, nextOffset: book.nextOffset, atMs: BigInt(options.atMs) },
  };
  const beganAtMs = monotonicNowMs();
  // While the journal is usable nothing was sent: only encoding failed, and it may be tried again.
  await patience({ dependency: 'registry', isRepeatable: () => journal.usable }, () => journal.commit(entry));
  shard.provenAtMs = beganAtMs;
  for (const state of seriesStates) shard.series.record(state);
  for (const { jobId } of entry.removals) book.forget(jobId);
  for (const { state, moved, checkpoints } of changes) {
    book.record(state, checkpoints);
    // Whatever it was waited for, the job is another one now: a later suspension waits anew.
    if (moved) shard.settlingSinceMs.delete(state.jobId);
  }
}

/**
 * The store cannot tell a distributor from one that was suspended for a minute and replaced meanwhile. So before anything
 * lets workers at a job, the last proof that nobody fenced us must be fresh; else one more commit gives it, or ends us.
 * What is left is a suspension between this line and the next: it costs a repeated delivery, never a lost one.
 */
export function ensureProven(shard: Shard, trustMs: number): Promise<void> {
  return shard.inTurn(async () => {
    if (monotonicNowMs() - shard.provenAtMs > trustMs) await commitNow(shard, { atMs: shard.parts.nowMs() });
  });
}

/** Runs each work after the one before it has ended, however that ended. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work, work);
    last = turn;
    return turn;
  };
}

/** With what a look at a job is judged, as of now. */
export function lookOptions({ parts }: Shard): LookOptions {
  const { nowMs, openTransactionDeadlineMs, breakerDeadlineMs, drainDeadlineMs } = parts;
  return { nowMs: nowMs(), openTransactionDeadlineMs, breakerDeadlineMs, drainDeadlineMs };
}

/** Runs a call on the store, waiting while it is unreachable. */
export function onStore<T>(shard: Shard, call: (store: CursorStore) => Promise<T>): Promise<T> {
  return shard.patience({ dependency: 'cursor store' }, () => call(shard.parts.store));
}

export function onSchedule<T>(shard: Shard, call: (schedule: Schedule) => Promise<T>): Promise<T> {
  return shard.patience({ dependency: 'schedule' }, () => call(shard.parts.schedule));
}

/** Lets workers find the job, and wakes them. */
export async function enlist(shard: Shard, job: LiveJob): Promise<void> {
  await list(shard, job);
  await onSchedule(shard, (schedule) => schedule.wake());
}

/** May be repeated: a job that is listed keeps its turn. */
export async function list(shard: Shard, job: LiveJob): Promise<void> {
  const { jobId, definition, state } = job;
  await ensureProven(shard, shard.parts.proofTrustMs);
  // Only the entry is changed: what was asked for stays what it was, and comes back when the hurry is over.
  const priority = shard.hurried.has(jobId) ? HIGHEST_PRIORITY : state.request.priority;
  await onSchedule(shard, (schedule) => schedule.enlist({ jobId, definition, priority }));
}

/** Fresh proof first: a distributor that was suspended here must not take away what its successor listed. */
export async function withdraw(shard: Shard, jobId: string): Promise<void> {
  await ensureProven(shard, shard.parts.proofTrustMs);
  await onSchedule(shard, (schedule) => schedule.withdraw(jobId));
}
