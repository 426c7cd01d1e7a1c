/** A distributor with everything around it: topics, requests, a worker of a few lines, and looks at what became durable. */
import { randomUUID } from 'node:crypto';
import {
  type Codec,
  type JobCommand,
  type JobEvent,
  type JobRequested,
  type JobState,
  readRecord,
  SchemaName,
  type SeriesDefinition,
  type SeriesState,
} from '@tidemark/contracts';
import type {
  AdvanceAnswer,
  ClaimAnswer,
  CursorStore,
  FloorStore,
  JobMode,
  Leadership,
  LostInterval,
  Parking,
  RangeState,
  Schedule,
  SettleAnswer,
} from '@tidemark/cursors';
import {
  decodeDefinition,
  isTerminal,
  type JobDefinition,
  type JobLog,
  jobTopics,
  newRequest,
  type RequestFields,
} from '@tidemark/jobs';
import { createJobLog } from '@tidemark/jobs/kafka';
import { sampleCommand } from '@tidemark/jobs/testing';
import {
  NO_COUNTS,
  type Offset,
  type RangeCounters,
  type RangeRef,
  rangeIdOf,
  sizeOfIntervals,
} from '@tidemark/keyspace';
import { type LogCluster, type LogRecord, scanTopic } from '@tidemark/log';
import { silentLogger } from '@tidemark/observability';
import { waitFor } from '@tidemark/testkit';
import { type Distributor, type DistributorOptions, startDistributor } from '../distributor.ts';
import type { Step } from '../steps.ts';

export interface RigParts {
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly store: CursorStore;
  readonly schedule: Schedule;
  readonly floors: FloorStore;
  readonly leadership: Leadership;
  readonly namespace: string;
  /** As an emptied store: all keys of the namespace are gone. */
  loseStore(): Promise<void>;
  /** As a store that comes back from a dump: calling the answer takes everything in it back to now. */
  dumpStore(): Promise<() => Promise<void>>;
  /** By somebody else, and each with these records. */
  addPartitions(topic: string, partitions: readonly number[], values: readonly string[]): Promise<void>;
  /** Of a name that nobody else uses. */
  newTopic(partitionCount: number): Promise<string>;
  /** Writes the values in a transaction that stays open until the returned function is called. */
  openTransaction(topic: string, values: readonly string[]): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** How a move of the cursor passes its records; all of them are ok unless it says otherwise. */
export interface Passing {
  readonly add?: Partial<RangeCounters>;
  readonly park?: readonly Parking[];
  readonly passed?: readonly LostInterval[];
}

export interface HeldRange {
  readonly token: string;
  claim(upTo: Offset): Promise<ClaimAnswer>;
  advance(to: Offset, as?: Passing): Promise<AdvanceAnswer>;
  settleParked(offset: Offset, how?: 'ok' | 'lost'): Promise<SettleAnswer>;
  stop(note: string, lost: RangeState['lost']): Promise<{ readonly kind: string }>;
  release(note?: string): Promise<void>;
}

/** Short, so that a test waits for one quickly. */
const CHECKPOINT_EVERY_MS = 40;
/** Longer than any machine holds a test up: that what is held runs out is only for those who say so. */
const LEASE_TTL_MS = 600_000;
const DRAIN_DEADLINE_MS = 600_000;
/** Well within the time after which a worker counts as silent. */
const ANNOUNCE_EVERY_MS = 1_000;

export class Rig {
  readonly parts: RigParts;
  readonly jobLog: JobLog;
  readonly #distributors: Distributor[] = [];
  readonly #states = new Map<string, JobState>();
  readonly #series = new Map<string, SeriesState>();
  readonly #watchers = new Set<() => void>();
  readonly #following = new AbortController();
  readonly #announcing: NodeJS.Timeout[] = [];
  #followed: Promise<unknown> | undefined;
  #sequence = 0n;

  constructor(parts: RigParts) {
    this.parts = parts;
    this.jobLog = createJobLog(parts);
  }

  async start(options: Partial<DistributorOptions> = {}): Promise<Distributor> {
    const { cluster, codec, store, schedule, floors, namespace } = this.parts;
    const base = { cluster, codec, store, schedule, floors, namespace, logger: silentLogger };
    const times = { checkpointEveryMs: CHECKPOINT_EVERY_MS, drainDeadlineMs: DRAIN_DEADLINE_MS };
    const distributor = await startDistributor({ ...base, ...times, ...options });
    this.#distributors.push(distributor);
    const onState = (state: JobState): void => {
      this.#states.set(state.jobId, state);
      for (const watcher of this.#watchers) watcher();
    };
    // A test that breaks the topic breaks this reader, too; it then does not wait for states.
    const onSeries = (state: SeriesState): void => {
      this.#series.set(state.series, state);
      for (const watcher of this.#watchers) watcher();
    };
    this.#followed ??= Promise.allSettled([
      this.jobLog.follow(onState, this.#following.signal),
      this.jobLog.followSeries(onSeries, this.#following.signal),
    ]);
    return distributor;
  }

  /** A distributor that stands still at a step until it is released, like a process that is dead or suspended there. */
  async startFrozenAt(
    step: Step,
    options: Partial<DistributorOptions> = {},
  ): Promise<{ readonly distributor: Distributor; readonly frozen: Promise<void>; release(): void }> {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    let armed = false;
    const distributor = await this.start({
      ...options,
      onStep: async (at) => {
        if (at !== step || !armed) return;
        reached.resolve();
        await gate.promise;
      },
    });
    armed = true;
    return { distributor, frozen: reached.promise, release: gate.resolve };
  }

  async request(fields: Partial<JobRequested> & Pick<RequestFields, 'topic'>): Promise<string> {
    const request = newRequest({ jobId: `job-${randomUUID().slice(0, 8)}`, handler: 'count', ...fields });
    await this.jobLog.request(request);
    return request.jobId;
  }

  /** Returns its id. */
  async command(jobId: string, command: string, fields: Partial<JobCommand> = {}): Promise<string> {
    const whole = sampleCommand({ commandId: randomUUID(), jobId, command, ...fields });
    await this.jobLog.command(whole);
    return whole.commandId;
  }

  /** Every hour, unless it says otherwise. Returns the id of the order. */
  async createSeries(
    series: string,
    request: Partial<JobRequested> & Pick<RequestFields, 'topic'>,
    schedule: Partial<SeriesDefinition> = {},
  ): Promise<string> {
    const template = newRequest({ jobId: series, handler: 'count', ...request });
    const definition = { request: template, cron: '', zone: 'UTC', everyMs: 3_600_000n, ...schedule };
    return this.orderSeries(series, 'create', definition);
  }

  async orderSeries(series: string, order: string, definition: SeriesDefinition | null = null): Promise<string> {
    const orderId = randomUUID();
    const by = { reason: 'a test', actor: 'tester' };
    await this.jobLog.orderSeries({ formatVersion: 1, orderId, series, order, definition, ...by });
    return orderId;
  }

  /** The newest durable state of a series, as soon as it is as wanted. */
  seriesState(series: string, fits: (state: SeriesState) => boolean = () => true): Promise<SeriesState> {
    return this.#found(() => {
      const state = this.#series.get(series);
      return state !== undefined && fits(state) ? state : undefined;
    });
  }

  /** The newest durable state, as soon as it is as wanted. */
  state(jobId: string, wanted: string | ((state: JobState) => boolean)): Promise<JobState> {
    const fits = typeof wanted === 'string' ? (state: JobState) => state.state === wanted : wanted;
    return this.#found(() => {
      const state = this.#states.get(jobId);
      return state !== undefined && fits(state) ? state : undefined;
    });
  }

  #found<Found>(find: () => Found | undefined): Promise<Found> {
    return new Promise((resolve) => {
      const look = (): void => {
        const found = find();
        if (found === undefined) return;
        this.#watchers.delete(look);
        resolve(found);
      };
      this.#watchers.add(look);
      look();
    });
  }

  ended(jobId: string): Promise<JobState> {
    return this.state(jobId, ({ state }) => isTerminal(state));
  }

  async produce(
    topic: string,
    partition: number,
    values: readonly string[],
    firstMs?: bigint,
  ): Promise<readonly Offset[]> {
    const writer = await this.parts.cluster.openWriter();
    try {
      const stamp = (index: number) => (firstMs === undefined ? {} : { timestampMs: firstMs + BigInt(index) * 1000n });
      const records = values.map((value, index) => ({
        topic,
        partition,
        key: null,
        value: Buffer.from(value),
        ...stamp(index),
      }));
      return (await writer.append(records)).map(({ offset }) => offset);
    } finally {
      await writer.close();
    }
  }

  async events(jobId: string): Promise<readonly JobEvent[]> {
    const events: JobEvent[] = [];
    await this.scan(jobTopics(this.parts.namespace).jobEvents, async ({ value }) => {
      if (value === null) return;
      const event = readRecord(await this.parts.codec.decode(value), SchemaName.jobEvent);
      if (event.jobId === jobId) events.push(event);
    });
    return events;
  }

  async kinds(jobId: string): Promise<readonly string[]> {
    return (await this.events(jobId)).map(({ kind }) => kind);
  }

  async scan(topicName: string, visit: (record: LogRecord) => Promise<void>): Promise<void> {
    const topic = await this.parts.cluster.catalog.describe(topicName);
    if (topic !== undefined) await scanTopic({ cluster: this.parts.cluster, topic, visit });
  }

  /** The ranges as the store shows them, as soon as there is a look that fits. */
  async ranges(
    jobId: string,
    fits: (ranges: readonly RangeState[]) => boolean = () => true,
  ): Promise<readonly RangeState[]> {
    return waitFor(`the ranges of ${jobId}`, async () => {
      const snapshot = await this.parts.store.snapshot(jobId);
      return snapshot !== undefined && fits(snapshot.ranges) && snapshot.ranges;
    });
  }

  /** What a worker would be told of the job, as soon as it may find it. */
  async definition(jobId: string): Promise<JobDefinition> {
    return waitFor(`${jobId} to be listed`, async () => {
      const { jobs } = await this.parts.schedule.propose({ limit: 100 });
      const found = jobs.find((job) => job.jobId === jobId);
      return found && decodeDefinition(found.definition);
    });
  }

  /** Whether the job may run becomes durable before the store hears of it. */
  async letRun(jobId: string): Promise<void> {
    await this.inMode(jobId, 'running');
  }

  async inMode(jobId: string, mode: JobMode): Promise<void> {
    await waitFor(`${jobId} to be ${mode}`, async () => (await this.parts.store.snapshot(jobId))?.mode === mode);
  }

  /** A worker that lives until the end of the test, and says so again and again as one does. */
  async announce(slots: number): Promise<void> {
    const handlers = [{ name: 'count', idempotent: true }];
    const worker = { workerId: randomUUID(), host: 'h', pid: 1, handlers, slots };
    const say = () => this.parts.schedule.announce(worker);
    await say();
    this.#announcing.push(setInterval(() => void say().catch(() => undefined), ANNOUNCE_EVERY_MS));
  }

  /** A slot that holds the range, until it gives it back. */
  async hold(jobId: string, { partition, start }: RangeRef): Promise<HeldRange> {
    const { store } = this.parts;
    const range = { partition, start };
    const slot = `worker-${rangeIdOf(range)}-${randomUUID()}`;
    const call = () => ({ slot, sequence: ++this.#sequence });
    const lease = await store.lease({ call: call(), jobId, range, leaseTtlMs: LEASE_TTL_MS });
    if (lease.kind !== 'granted') throw new Error(`lease: ${lease.kind}`);
    const { token } = lease;
    const held = { jobId, range, token };
    let cursor = lease.cursor;
    return {
      token,
      claim: (upTo) => store.claim({ ...held, call: call(), upTo }),
      advance: async (to, { add = {}, park = [], passed = [] } = {}) => {
        const [parked, lost] = [BigInt(park.length), sizeOfIntervals(passed)];
        const counts = { ...NO_COUNTS, ok: to - cursor - parked - lost, parked, lost, ...add };
        const move = { from: cursor, to, add: counts, park, passed };
        const answer = await store.advance({ ...held, call: call(), ...move, leaseTtlMs: LEASE_TTL_MS });
        if (answer.kind === 'advanced') cursor = to;
        return answer;
      },
      settleParked: (offset, how = 'ok') => {
        const add = { ...NO_COUNTS, [how]: 1n, parked: -1n };
        const passed = how === 'lost' ? [{ first: offset, last: offset }] : [];
        const step = { settled: [offset], again: [], add, passed };
        return store.settle({ ...held, call: call(), ...step, leaseTtlMs: LEASE_TTL_MS });
      },
      stop: (note, lost) => store.stop({ ...held, call: call(), note, lost }),
      release: async (note = '') => {
        await store.release({ ...held, call: call(), delayMs: 0, note, untouched: true });
      },
    };
  }

  /** Takes the range and settles it up to an offset; a worker that needs no log. The lease is given back. */
  async settle(jobId: string, range: RangeRef, to: Offset, as: Passing = {}): Promise<string> {
    const held = await this.hold(jobId, range);
    const claim = await held.claim(to);
    if (claim.kind !== 'claimed') throw new Error(`claim: ${claim.kind}`);
    const advance = await held.advance(to, as);
    if (advance.kind !== 'advanced') throw new Error(`advance: ${advance.kind}`);
    if (!advance.done) await held.release();
    return held.token;
  }

  /** Takes the range and leaves it with a note: waiting, or stopped for good. */
  async leave(
    jobId: string,
    range: RangeRef,
    how: { readonly note: string; readonly lost?: RangeState['lost']; readonly stop: boolean },
  ): Promise<void> {
    const held = await this.hold(jobId, range);
    if (how.stop) await held.stop(how.note, how.lost ?? []);
    else await held.release(how.note);
  }

  /** Settles everything that is left, and what is cut from it meanwhile. */
  async settleAll(jobId: string): Promise<void> {
    let ranges = await this.ranges(jobId);
    while (ranges.some(({ status }) => status === 'open')) {
      for (const range of ranges) {
        if (range.status === 'open') await this.#settleToItsEnd(jobId, range);
      }
      ranges = (await this.parts.store.snapshot(jobId))?.ranges ?? [];
    }
  }

  async #settleToItsEnd(jobId: string, range: RangeState): Promise<void> {
    const held = await this.hold(jobId, range);
    const claim = await held.claim(range.end);
    if (claim.kind !== 'claimed') throw new Error(`claim: ${claim.kind}`);
    // A distributor may have cut the range since it was looked at; what is claimed now stays as it is.
    const advance = await held.advance(claim.end);
    if (advance.kind !== 'advanced') throw new Error(`advance: ${advance.kind}`);
  }

  async close(): Promise<void> {
    for (const timer of this.#announcing) clearInterval(timer);
    await Promise.all(this.#distributors.map((distributor) => distributor.stop('the test is over')));
    this.#following.abort();
    await this.#followed;
    await this.jobLog.close();
    await this.parts.close();
  }
}
