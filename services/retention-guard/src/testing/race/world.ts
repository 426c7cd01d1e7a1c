/**
 * Everything that outlives a crash, and the auditor that watches the one thing that cannot be undone: a deletion.
 *
 * Kafka and the floors are the twins of their rooms. The cursors of jobs are a map here: what a worker has settled
 * according to the store (lost with it), and what is acknowledged in Kafka (what a restore yields).
 */

import type { JobState } from '@tidemark/contracts';
import { createMemoryCodec } from '@tidemark/contracts/testing';
import type { FloorPlace, FloorStore } from '@tidemark/cursors';
import { createMemoryFloorStore } from '@tidemark/cursors/testing';
import { auditHolderOf, isHeldForAudit, isTerminal, type MarkLog } from '@tidemark/jobs';
import { createMarkLog } from '@tidemark/jobs/kafka';
import type { Offset } from '@tidemark/keyspace';
import type { LogCluster, PartitionOffsets } from '@tidemark/log';
import { createMemoryCluster } from '@tidemark/log/testing';
import type { CycleReport } from '../../report.ts';
import type { Actor } from './scheduler.ts';

export const TOPIC = 'orders';
export const GROUP = 'billing';
const NAMESPACE = 'race';

/** One range is one job here: its window in the only partition. */
export interface DurableJob {
  readonly state: JobState;
  /** Acknowledged. */
  readonly cursor: Offset;
}

export interface Counts {
  accepted: number;
  refusedAtPin: number;
  endedUnaccepted: number;
  completed: number;
  cuts: number;
  restores: number;
  calamities: number;
  takeovers: number;
  /** Holds for audits. */
  released: number;
}

/** Thrown to a distributor that was replaced, at its next durable step. */
export class Fenced extends Error {}

export class World {
  readonly cluster = createMemoryCluster();
  readonly codec = createMemoryCodec();
  readonly marks: MarkLog = createMarkLog({ cluster: this.cluster, codec: this.codec, namespace: NAMESPACE });
  nowMs = 1_000_000;
  readonly floors = createMemoryFloorStore({ now: () => this.nowMs });
  readonly durable = new Map<string, DurableJob>();
  /** Jobs whose submitter was told that they run. */
  readonly promised = new Set<string>();
  /** The cursor of a job in the store; absent when the store lost it, or never had it. */
  readonly inStore = new Map<string, Offset>();
  /** Checkpoints that were sent and have not landed. */
  readonly onTheWay: { readonly jobId: string; readonly cursor: Offset }[] = [];
  readonly counts: Counts = {
    accepted: 0,
    refusedAtPin: 0,
    endedUnaccepted: 0,
    completed: 0,
    cuts: 0,
    restores: 0,
    calamities: 0,
    takeovers: 0,
    released: 0,
  };
  /** Per guard, the jobs that were promised when its cycle began. */
  readonly heardOf = new Map<string, ReadonlySet<string>>();
  /** The first thing that the auditor found. Kept and not thrown: the parts under test would take it for a fault of a service. */
  violation: Error | undefined;
  session = 0;
  /** What is left to do; when nothing is, the actors end. */
  isOver = false;
  topicId = '';
  /** Where the named group goes on; undefined in races without one. */
  committed: Offset | undefined;

  commit(offset: Offset): void {
    this.committed = offset;
    this.cluster.commitOffset(GROUP, TOPIC, 0, offset);
  }

  async open(records: number): Promise<void> {
    this.topicId = this.cluster.createTopic(TOPIC, {
      configs: { 'retention.ms': '-1', 'retention.bytes': '-1' },
    }).topicId;
    await this.marks.ensure(1);
    await this.#lookFirst();
    this.produce(records);
  }

  /** A guard has looked before: what goes from here on without one of ours is found. */
  async #lookFirst(): Promise<void> {
    const session = await this.marks.openSession();
    const seen = { firstLogStart: 0n, removals: [], wentBackMark: -1n, releases: [] };
    await session.watch([{ formatVersion: 1, ...this.place, ...seen, guard: 'before', atMs: 0n }]);
    await session.close();
  }

  get place(): FloorPlace {
    return { topic: TOPIC, topicId: this.topicId, partition: 0 };
  }

  produce(records: number): void {
    const transaction = this.cluster.begin();
    const value = Buffer.from('x');
    transaction.append(
      Array.from({ length: records }, () => ({ topic: TOPIC, partition: 0, key: null, value, timestampMs: 0n })),
    );
    transaction.commit();
  }

  unfinished(): readonly DurableJob[] {
    return [...this.durable.values()].filter(({ state }) => !isTerminal(state.state));
  }

  async logEnd(): Promise<Offset> {
    return (await this.#offsets()).highWatermark;
  }

  async logStart(): Promise<Offset> {
    return (await this.#offsets()).logStartOffset;
  }

  async #offsets(): Promise<PartitionOffsets> {
    const topic = await this.cluster.catalog.describe(TOPIC);
    const [offsets] = topic === undefined ? [] : await this.cluster.catalog.offsets(topic);
    if (offsets === undefined) throw new Error('the topic is gone');
    return offsets;
  }

  heldAfterEnd(): readonly string[] {
    return [...this.durable.values()]
      .filter(({ state }) => isTerminal(state.state) && isHeldForAudit(state))
      .map(({ state }) => state.jobId);
  }

  /**
   * Unfinished jobs that every guard has heard of before its cycle began. Somebody who removes the floor of one that was
   * accepted within a cycle, in that very cycle, cannot be stopped.
   */
  knownToGuards(): readonly string[] {
    return this.unfinished()
      .map(({ state }) => state.jobId)
      .filter((jobId) => this.#isHeardOf(jobId));
  }

  /** The same, of what is held for audits. */
  holdsKnownToGuards(): readonly string[] {
    return [...this.durable.values()]
      .filter(({ state }) => isHeldForAudit(state) && this.#isHeardOf(state.jobId))
      .map(({ state }) => auditHolderOf(state.jobId));
  }

  #isHeardOf(jobId: string): boolean {
    return [...this.heardOf.values()].every((heard) => heard.has(jobId));
  }

  /** The auditor's question at a deletion: is all of it given up by everybody who was promised something? */
  checkDeletion(mark: Offset): void {
    if (this.committed !== undefined && mark > this.committed)
      this.violation ??= new Error(`AUDIT: deleting below ${mark}, group ${GROUP} goes on at ${this.committed}`);
    for (const { state } of this.durable.values()) {
      const first = (state.pin?.partitions[0]?.start ?? -1n) + 1n;
      if (this.promised.has(state.jobId) && isHeldForAudit(state) && mark > first)
        this.#found(state.jobId, `deleting below ${mark}, it is held for an audit from ${first} on`);
    }
    for (const { state, cursor } of this.unfinished()) {
      const { jobId } = state;
      if (!this.promised.has(jobId)) continue;
      if (mark > cursor + 1n) this.#found(jobId, `deleting below ${mark}, a restore needs ${cursor + 1n}`);
      const stored = this.inStore.get(jobId);
      if (stored !== undefined && mark > stored + 1n)
        this.#found(jobId, `deleting below ${mark}, the store needs ${stored + 1n}`);
    }
  }

  /** Of a cycle: nobody removes anything here but guards, and they know what they did. */
  checkRemovals({ partitions }: CycleReport): void {
    for (const { removals = [] } of partitions)
      for (const { from, to } of removals)
        this.violation ??= new Error(`AUDIT: [${from}, ${to}) is taken for the doing of others`);
  }

  /** And when a job is promised: is its window still there? */
  async promise(jobId: string): Promise<void> {
    const job = this.durable.get(jobId);
    const logStart = await this.logStart();
    if (job !== undefined && logStart > job.cursor + 1n)
      this.#found(jobId, `accepted from ${job.cursor + 1n} on, the log begins at ${logStart}`);
    this.promised.add(jobId);
    this.counts.accepted += 1;
  }

  /** Of a worker that is about to handle the next offset. */
  async checkReading(jobId: string, cursor: Offset): Promise<void> {
    const logStart = await this.logStart();
    if (logStart > cursor + 1n) this.#found(jobId, `reads ${cursor + 1n}, the log begins at ${logStart}`);
  }

  #found(jobId: string, what: string): void {
    this.violation ??= new Error(`AUDIT: job ${jobId}: ${what}`);
  }
}

/** The floors as one actor reaches them: each call takes effect at its turn. */
export function floorsOf(world: World, actor: Actor): FloorStore {
  const { floors } = world;
  const at = async <T>(call: () => Promise<T>): Promise<T> => {
    await actor.turn();
    return call();
  };
  return {
    reserve: (request) => at(() => floors.reserve(request)),
    confirm: (request) => at(() => floors.confirm(request)),
    raise: (request) => at(() => floors.raise(request)),
    drop: (request) => at(() => floors.drop(request)),
    propose: (request) => at(() => floors.propose(request)),
    holdsMark: (request) => at(() => floors.holdsMark(request)),
    withhold: (request) => at(() => floors.withhold(request)),
    install: (request) => at(() => floors.install(request)),
    look: (place) => at(() => floors.look(place)),
    incarnation: () => at(() => floors.incarnation()),
    close: () => floors.close(),
  };
}

export function clusterOf(world: World, actor: Actor): Pick<LogCluster, 'catalog' | 'openReader'> {
  const { catalog } = world.cluster;
  const at = async <T>(call: () => Promise<T>): Promise<T> => {
    await actor.turn();
    return call();
  };
  return {
    openReader: () => world.cluster.openReader(),
    catalog: {
      describe: (topic) => at(() => catalog.describe(topic)),
      offsets: (topic) => at(() => catalog.offsets(topic)),
      offsetsAt: (topic, timestampMs) => at(() => catalog.offsetsAt(topic, timestampMs)),
      ensure: (spec) => at(() => catalog.ensure(spec)),
      settings: (topic, names) => at(() => catalog.settings(topic, names)),
      changeSettings: (topic, settings) => at(() => catalog.changeSettings(topic, settings)),
      committedOffsets: (group, topic) => at(() => catalog.committedOffsets(group, topic)),
      disks: (topics) => catalog.disks(topics),
      deleteRecordsBefore: (source, offset) =>
        at(async () => {
          world.checkDeletion(offset);
          world.counts.cuts += 1;
          await catalog.deleteRecordsBefore(source, offset);
        }),
      transactions: catalog.transactions,
      close: () => catalog.close(),
    },
  };
}

export function marksOf(world: World, actor: Actor): MarkLog {
  const { marks } = world;
  return {
    ensure: (replicationFactor) => marks.ensure(replicationFactor),
    load: async () => {
      await actor.turn();
      return marks.load();
    },
    tell: (views) => marks.tell(views),
    openSession: async () => {
      await actor.turn();
      const session = await marks.openSession();
      return {
        write: async (written) => {
          await actor.turn();
          return session.write(written);
        },
        watch: async (watches) => {
          await actor.turn();
          return session.watch(watches);
        },
        close: () => session.close(),
      };
    },
  };
}
