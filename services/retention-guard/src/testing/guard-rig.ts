/** A distributor, a guard, and a worker of a few lines, on the twins or on the real services. */
import { randomUUID } from 'node:crypto';
import type { Codec, JobState, SeriesState } from '@tidemark/contracts';
import type { CursorStore, FloorLook, FloorStore, Parking, Schedule } from '@tidemark/cursors';
import { type Distributor, type DistributorOptions, startDistributor } from '@tidemark/distributor';
import { isTerminal, type JobLog, newRequest, type RequestFields } from '@tidemark/jobs';
import { createJobLog, createMarkLog } from '@tidemark/jobs/kafka';
import { sampleCommand } from '@tidemark/jobs/testing';
import { NO_COUNTS, type Offset, toOffset } from '@tidemark/keyspace';
import type { LogCatalog, LogCluster, TopicDescription } from '@tidemark/log';
import { silentLogger } from '@tidemark/observability';
import { waitFor } from '@tidemark/testkit';
import { runCycle } from '../cycle.ts';
import type { GuardParts } from '../parts.ts';
import type { RetentionPolicy } from '../policy.ts';
import type { CycleReport, PartitionReport } from '../report.ts';

export interface GuardRigParts {
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly store: CursorStore;
  readonly schedule: Schedule;
  readonly floors: FloorStore;
  readonly namespace: string;
  newTopic(partitionCount: number, configs?: Readonly<Record<string, string>>): Promise<string>;
  /** As anybody may write them, who knows of partitions that were added a moment ago. */
  append(topic: string, partition: number, values: readonly string[]): Promise<void>;
  /** Writes the values in a transaction that stays open until the returned function is called. */
  openTransaction(topic: string, values: readonly string[]): Promise<() => Promise<void>>;
  /** As a consumer group whose members are away. */
  commitOffset(group: string, topic: string, partition: number, offset: bigint): Promise<void>;
  deleteTopic(topic: string): Promise<void>;
  addPartitions(topic: string, partitionCount: number): Promise<void>;
  loseStore(): Promise<void>;
  close(): Promise<void>;
}

const CHECKPOINT_EVERY_MS = 40;
/** Longer than any machine holds a test up. */
const LEASE_TTL_MS = 600_000;

/** Without limits of the broker's own. */
export const OURS = { 'retention.ms': '-1', 'retention.bytes': '-1' };

/** A record that was written a moment ago is older than nothing, also when the clock has not ticked since. */
const aMomentLater = (): number => Date.now() + 1_000;

/** Of the test that runs. */
export type RigOf = () => GuardRig;

export class GuardRig {
  readonly parts: GuardRigParts;
  readonly jobLog: JobLog;
  readonly #distributors: Distributor[] = [];
  #sequence = 0n;
  /** Requests of all guards of this rig to remove records. */
  deletions = 0;

  constructor(parts: GuardRigParts) {
    this.parts = parts;
    this.jobLog = createJobLog(parts);
  }

  async distribute(
    options: Partial<Pick<DistributorOptions, 'floors' | 'floorsLookEveryMs' | 'onStep'>> = {},
  ): Promise<Distributor> {
    const distributor = await startDistributor({
      ...this.parts,
      logger: silentLogger,
      checkpointEveryMs: CHECKPOINT_EVERY_MS,
      ...options,
    });
    this.#distributors.push(distributor);
    return distributor;
  }

  guardParts(
    policies: readonly RetentionPolicy[],
    changed: Partial<Pick<GuardParts, 'floors' | 'groups' | 'holds' | 'repairs' | 'nowMs'>> = {},
  ): GuardParts {
    const { cluster } = this.parts;
    const log = { jobs: this.jobLog, marks: createMarkLog(this.parts) };
    const counted = { openReader: () => cluster.openReader(), catalog: this.#counting(cluster.catalog) };
    const { floors } = this.parts;
    return { cluster: counted, floors, ...log, policies, name: 'a test', nowMs: aMomentLater, ...changed };
  }

  #counting(catalog: LogCatalog): LogCatalog {
    return {
      describe: (topic) => catalog.describe(topic),
      offsets: (topic) => catalog.offsets(topic),
      offsetsAt: (topic, timestampMs) => catalog.offsetsAt(topic, timestampMs),
      ensure: (spec) => catalog.ensure(spec),
      settings: (topic, names) => catalog.settings(topic, names),
      changeSettings: (topic, settings) => catalog.changeSettings(topic, settings),
      committedOffsets: (group, topic) => catalog.committedOffsets(group, topic),
      disks: (topics) => catalog.disks(topics),
      deleteRecordsBefore: (source, offset) => {
        this.deletions += 1;
        return catalog.deleteRecordsBefore(source, offset);
      },
      transactions: catalog.transactions,
      close: () => catalog.close(),
    };
  }

  /** By default with the policy that keeps nothing beyond what is needed. */
  cycle(topic: string, policy: Partial<RetentionPolicy> = {}): Promise<CycleReport> {
    return runCycle(this.guardParts([{ topic, ageMs: 0, bytes: undefined, ...policy }]));
  }

  async outcomes(topic: string, policy: Partial<RetentionPolicy> = {}): Promise<readonly PartitionReport['outcome'][]> {
    return (await this.cycle(topic, policy)).partitions.map(({ outcome }) => outcome);
  }

  /** A job that is accepted and in the store, or has ended at once: nothing was left to read, or the guard was faster. */
  async submit(fields: Pick<RequestFields, 'topic' | 'from' | 'to' | 'holdForAuditMs' | 'priority'>): Promise<string> {
    const request = newRequest({ jobId: `job-${randomUUID().slice(0, 8)}`, handler: 'count', ...fields });
    await this.jobLog.request(request);
    const { state } = await this.state(request.jobId, (seen) => seen.state !== 'PINNING');
    if (isTerminal(state)) return request.jobId;
    await this.until(
      'the job in the store',
      async () => (await this.parts.store.snapshot(request.jobId)) !== undefined,
    );
    return request.jobId;
  }

  async state(jobId: string, fits: (state: JobState) => boolean): Promise<JobState> {
    return waitFor(`the state of ${jobId}`, async () => {
      const state = (await this.jobLog.states()).get(jobId);
      return state !== undefined && fits(state) && state;
    });
  }

  /** The job's whole window, or up to an offset of one partition; what is to be parked waits for a later attempt. */
  async settle(
    jobId: string,
    only?: { readonly partition: number; readonly to: bigint; readonly parked?: bigint },
  ): Promise<void> {
    const { store } = this.parts;
    const snapshot = await store.snapshot(jobId);
    for (const { partition, start, end, status } of snapshot?.ranges ?? []) {
      if (status !== 'open' || (only !== undefined && only.partition !== partition)) continue;
      const range = { partition, start };
      const slot = randomUUID();
      const call = () => ({ slot, sequence: ++this.#sequence });
      const lease = await store.lease({ call: call(), jobId, range, leaseTtlMs: LEASE_TTL_MS });
      if (lease.kind !== 'granted') throw new Error(`lease: ${lease.kind}`);
      const to = only === undefined ? end : toOffset(only.to);
      const held = { jobId, range, token: lease.token };
      await store.claim({ ...held, call: call(), upTo: to });
      const park = only?.parked === undefined ? [] : [parking(only.parked)];
      const parked = BigInt(park.length);
      const add = { ...NO_COUNTS, ok: to - lease.cursor - parked, parked };
      const moved = await store.advance({
        ...held,
        call: call(),
        from: lease.cursor,
        to,
        add,
        park,
        passed: [],
        leaseTtlMs: LEASE_TTL_MS,
      });
      if (moved.kind !== 'advanced') throw new Error(`advance: ${moved.kind}`);
      if (!moved.done) await store.release({ ...held, call: call(), delayMs: 0, note: '', untouched: true });
    }
  }

  async createSeries(series: string, fields: Pick<RequestFields, 'topic'>): Promise<void> {
    const request = newRequest({ jobId: series, handler: 'count', ...fields });
    const definition = { request, cron: '', zone: 'UTC', everyMs: 3_600_000n };
    const by = { orderId: randomUUID(), reason: 'a test', actor: 'a test' };
    await this.jobLog.orderSeries({ formatVersion: 1, series, order: 'create', definition, ...by });
  }

  async seriesState(series: string, fits: (state: SeriesState) => boolean): Promise<SeriesState> {
    return waitFor(`the state of series ${series}`, async () => {
      const state = (await this.jobLog.series()).get(series);
      return state !== undefined && fits(state) && state;
    });
  }

  /** What the log keeps for an audit of it. */
  async release(jobId: string): Promise<void> {
    await this.jobLog.command(sampleCommand({ jobId, command: 'release' }));
    await this.state(jobId, ({ heldForAuditUntilMs }) => heldForAuditUntilMs === 0n);
  }

  async pause(jobId: string): Promise<void> {
    await this.jobLog.command(sampleCommand({ jobId, command: 'pause' }));
    await this.state(jobId, ({ state }) => state === 'PAUSED');
  }

  /** Its floors go last of all. */
  async finish(jobId: string): Promise<void> {
    await this.settle(jobId);
    const { request } = await this.state(jobId, ({ state }) => state === 'COMPLETED');
    await this.until('the keys to be gone', async () => (await this.parts.store.snapshot(jobId)) === undefined);
    await this.until('its floors to be gone', async () => {
      const looks = await this.#looks(request.topic);
      return looks.every((look) => !look?.floors.some(({ holder }) => holder === jobId));
    });
  }

  produce(topic: string, partition: number, count: number, bytes = 1): Promise<void> {
    return this.parts.append(
      topic,
      partition,
      Array.from({ length: count }, () => 'x'.repeat(bytes)),
    );
  }

  async describe(topic: string): Promise<TopicDescription> {
    const found = await this.parts.cluster.catalog.describe(topic);
    if (found === undefined) throw new Error(`topic ${topic} is gone`);
    return found;
  }

  /** As anybody with the right may do it, or the broker itself. */
  async removeBehindOurBack(topic: string, partition: number, before: bigint): Promise<void> {
    const source = { topic, topicId: (await this.describe(topic)).topicId, partition };
    await this.parts.cluster.catalog.deleteRecordsBefore(source, toOffset(before));
  }

  async logStarts(topic: string): Promise<readonly Offset[]> {
    const offsets = await this.parts.cluster.catalog.offsets(await this.describe(topic));
    return offsets.map(({ logStartOffset }) => logStartOffset);
  }

  /** By partition, the lowest. */
  async floors(topic: string): Promise<readonly (Offset | undefined)[]> {
    const looks = await this.#looks(topic);
    return looks.map((look) => look?.floors.map(({ offset }) => offset).sort((a, b) => (a < b ? -1 : 1))[0]);
  }

  async #looks(topic: string): Promise<readonly (FloorLook | undefined)[]> {
    const { topicId, partitionCount } = await this.describe(topic);
    const looks: (FloorLook | undefined)[] = [];
    for (let partition = 0; partition < partitionCount; partition++)
      looks.push(await this.parts.floors.look({ topic, topicId, partition }));
    return looks;
  }

  /** Cycles until the log of the first partition begins there: what holds it for a moment runs out. */
  async cutsUpTo(topic: string, offset: bigint): Promise<void> {
    await this.until(`a log that begins at ${offset}`, async () => {
      await this.cycle(topic);
      return (await this.logStarts(topic))[0] === offset;
    });
  }

  async floorsAre(topic: string, wanted: readonly (bigint | undefined)[]): Promise<void> {
    await this.until(`floors ${wanted.join(', ')}`, async () => {
      const floors = await this.floors(topic);
      return wanted.every((offset, partition) => floors[partition] === offset);
    });
  }

  async until(what: string, fits: () => Promise<boolean>): Promise<void> {
    await waitFor(what, fits);
  }

  async close(): Promise<void> {
    await Promise.all(this.#distributors.map((distributor) => distributor.stop('the test is over')));
    await this.jobLog.close();
    await this.parts.close();
  }
}

function parking(offset: bigint): Parking {
  return { offset: toOffset(offset), attempt: 1, delayMs: 60_000, faultClass: 'transient', keyHash: '' };
}
