/** Who takes part in a race: distributors and guards with their real code, and those around them in a few lines. */
import { type JobState, SchemaName, type StoreEpoch } from '@tidemark/contracts';
import {
  createFloorKeeper,
  type FloorKeeper,
  type FloorKeeperParts,
  lookAfterFloors,
  type Need,
  needsOf,
  pinWindow,
  wholeOf,
} from '@tidemark/distributor';
import { auditedJobOf, auditHolderOf, isHeldForAudit, isTerminal, JobPhase, jobTopics } from '@tidemark/jobs';
import { sampleRequest, sampleState } from '@tidemark/jobs/testing';
import { ErrorClass, nextOffsetOf, type Offset, offsetMin, TidemarkError, toOffset } from '@tidemark/keyspace';
import type { Chance } from '@tidemark/testkit/chance';
import { runCycle } from '../../cycle.ts';
import type { GuardParts } from '../../parts.ts';
import type { Actor } from './scheduler.ts';
import { clusterOf, Fenced, floorsOf, GROUP, marksOf, TOPIC, type World } from './world.ts';

/** What a planted bug changes. */
export interface Variant {
  /** A consumer group goes through the log beside the jobs. */
  readonly withGroup?: boolean;
  /** Of every other job the whole window is held for an audit, until somebody lets it go some time after the end. */
  readonly withHolds?: boolean;
  readonly guard?: (parts: GuardParts) => GuardParts;
  /** How a distributor reads what it raises a floor to. */
  readonly raiseOrder?: 'acknowledged, store' | 'store, acknowledged' | 'store only';
}

const UNFINISHED_MAX = 2;
const HOLD_MS = 1_000n;
/** Of a hold whose job has ended, in a round. */
const RELEASED_ONE_IN = 6;

let lives = 0;
const newLife = (): string => {
  lives += 1;
  return `life-${lives}`;
};

/** One cycle after the other, with the policy that wants everything gone. */
export async function guard(world: World, actor: Actor, { guard: change = (parts) => parts }: Variant): Promise<void> {
  const parts = change({
    cluster: clusterOf(world, actor),
    floors: floorsOf(world, actor),
    marks: marksOf(world, actor),
    jobs: {
      jobsAndSeries: async () => {
        await actor.turn();
        return {
          states: new Map([...world.durable].map(([jobId, { state }]) => [jobId, state])),
          series: new Map(),
        };
      },
    },
    policies: [{ topic: TOPIC, ageMs: 0, bytes: undefined }],
    groups: world.committed === undefined ? new Map() : new Map([[TOPIC, [GROUP]]]),
    name: actor.name,
    nowMs: () => world.nowMs,
  });
  while (!world.isOver) {
    world.heardOf.set(actor.name, new Set(world.promised));
    world.checkRemovals(await runCycle(parts));
  }
}

/** One after the other, as the real one does; a replaced one goes on until its next durable step. */
export class Distributor {
  readonly #world: World;
  readonly #actor: Actor;
  readonly #session: number;
  readonly #variant: Variant;
  readonly #keeper: FloorKeeper;
  /** Jobs that it knows; a replaced one does not hear of newer ones. */
  readonly #book = new Set<string>();
  #incarnation = '';

  constructor(world: World, actor: Actor, variant: Variant) {
    this.#world = world;
    this.#actor = actor;
    this.#variant = variant;
    world.session += 1;
    this.#session = world.session;
    this.#keeper = createFloorKeeper({
      store: floorsOf(world, actor),
      loadMarks: marksOf(world, actor).load,
      readFloors: () => this.#readFloors(),
      prove: () => this.#durably(() => undefined),
      newLife,
    });
  }

  async run(chance: Chance, requests: string[]): Promise<void> {
    try {
      await this.#durably(() => {
        for (const jobId of this.#world.durable.keys()) this.#book.add(jobId);
      });
      await this.#beginLife();
      for (const jobId of this.#book) await this.#accept(jobId);
      for (const { holder, needs } of this.#holds()) await this.#keeper.restore(holder, needs);
      while (!this.#world.isOver) {
        // Not all at once: with every job at the beginning of the log nothing could ever be cut while one runs.
        const hasRoom = this.#world.unfinished().length < UNFINISHED_MAX;
        const request = hasRoom && chance.oneIn(2) ? requests.shift() : undefined;
        if (request !== undefined) await this.#pin(request, chance);
        else await this.#round(chance);
      }
    } catch (error) {
      // As a session that ends and is followed by another one.
      if (error instanceof TidemarkError && error.class === ErrorClass.transient) return this.run(chance, requests);
      if (!(error instanceof Fenced)) throw error;
    }
  }

  async #readFloors(): ReturnType<FloorKeeperParts['readFloors']> {
    const { durable, inStore } = this.#world;
    await this.#actor.turn();
    const acknowledged = [...durable.values()].filter(
      ({ state }) => this.#book.has(state.jobId) && state.state === JobPhase.running,
    );
    await this.#actor.turn();
    const floors = acknowledged.map(({ state: { jobId }, cursor }) => ({
      holder: jobId,
      offset: nextOffsetOf(offsetMin(cursor, inStore.get(jobId) ?? cursor)),
    }));
    const held = this.#holds().flatMap(({ holder, needs }) => needs.map(({ offset }) => ({ holder, offset })));
    return () => [...floors, ...held];
  }

  /** What is held for audits, of accepted jobs and of those that have ended. */
  #holds(): readonly { readonly holder: string; readonly needs: readonly Need[] }[] {
    return [...this.#world.durable.values()]
      .filter(({ state }) => this.#book.has(state.jobId) && isHeldForAudit(state) && state.state !== JobPhase.pinning)
      .map(({ state }) => ({ holder: auditHolderOf(state.jobId), needs: wholeOf(state) }));
  }

  /** A transaction: refused when a younger distributor has begun. */
  async #durably(change: () => void): Promise<void> {
    await this.#actor.turn();
    if (this.#world.session !== this.#session) throw new Fenced();
    change();
  }

  async #beginLife(): Promise<void> {
    const { floors, cluster, codec, place } = this.#world;
    const incarnation = await floorsOf(this.#world, this.#actor).incarnation();
    const record: StoreEpoch = { formatVersion: 1, incarnation, distributor: this.#actor.name, atMs: 0n };
    const value = await codec.encode(SchemaName.storeEpoch, record);
    await this.#durably(() => {
      const topic = jobTopics('race').marks;
      const transaction = cluster.begin();
      transaction.append([{ topic, partition: 0, key: Buffer.from('store'), value }]);
      transaction.commit();
    });
    this.#incarnation = incarnation;
    if (this.#world.durable.size > 0) await this.#keeper.fill([place]);
    void floors;
  }

  async #pin(jobId: string, chance: Chance): Promise<void> {
    const { counts, durable } = this.#world;
    const previous = [...durable.values()][chance.below(2 * durable.size)]?.state;
    const from = previous === undefined ? 'earliest' : `after:${previous.jobId}`;
    const holdForAuditMs = this.#variant.withHolds === true && chance.oneIn(2) ? HOLD_MS : 0n;
    const request = sampleRequest({ jobId, topic: TOPIC, from, holdForAuditMs });
    const { catalog } = clusterOf(this.#world, this.#actor);
    const answer = await pinWindow({
      catalog,
      request,
      previous,
      nowMs: () => this.#world.nowMs,
      onStep: async () => undefined,
      unsent: async () => ({ unsentKeys: 0n, unsent: [] }),
      floors: this.#keeper,
    });
    if (answer.kind === 'refused') {
      counts.refusedAtPin += 1;
      return;
    }
    const [window] = answer.pin.partitions;
    if (window === undefined || window.end <= window.start) return;
    const heldForAuditUntilMs = holdForAuditMs > 0n ? -1n : 0n;
    const state = sampleState({ request, pin: answer.pin, state: JobPhase.pinning, heldForAuditUntilMs });
    await this.#durably(() => {
      durable.set(jobId, { state, cursor: toOffset(window.start) });
      this.#book.add(jobId);
    });
    if (await this.#accept(jobId)) await this.#fill(jobId);
  }

  /** True when the job runs. */
  async #accept(jobId: string): Promise<boolean> {
    const { durable, counts } = this.#world;
    const job = durable.get(jobId);
    if (job === undefined || isTerminal(job.state.state)) return false;
    const needs = needsOf(job.state, [ranged(job.cursor)]);
    if (job.state.state === JobPhase.running) {
      await this.#keeper.restore(jobId, needs);
      return true;
    }
    const own = await this.#keeper.confirm(jobId, needs);
    const answer =
      own.kind === 'confirmed' && isHeldForAudit(job.state)
        ? await this.#keeper.confirm(auditHolderOf(jobId), wholeOf(job.state))
        : own;
    if (answer.kind === 'confirmed') {
      await this.#durably(() => durable.set(jobId, { ...job, state: { ...job.state, state: JobPhase.running } }));
      await this.#world.promise(jobId);
      return true;
    }
    await this.#end(jobId, JobPhase.refused);
    counts.endedUnaccepted += 1;
    return false;
  }

  async #fill(jobId: string): Promise<void> {
    await this.#durably(() => {
      const job = this.#world.durable.get(jobId);
      if (job !== undefined && !isTerminal(job.state.state)) this.#world.inStore.set(jobId, job.cursor);
    });
  }

  async #end(jobId: string, phase: JobPhase): Promise<void> {
    await this.#durably(() => {
      const job = this.#world.durable.get(jobId);
      if (job !== undefined && !isTerminal(job.state.state)) {
        const isHeld = isHeldForAudit(job.state) && phase !== JobPhase.refused;
        const heldForAuditUntilMs = isHeld ? BigInt(this.#world.nowMs) + HOLD_MS : 0n;
        this.#world.durable.set(jobId, { ...job, state: { ...job.state, state: phase, heldForAuditUntilMs } });
      }
    });
    await this.#actor.turn();
    this.#world.inStore.delete(jobId);
    await this.#keeper.drop(jobId, [this.#world.place]);
    const state = this.#world.durable.get(jobId)?.state;
    if (state !== undefined && state.request.holdForAuditMs > 0n && !isHeldForAudit(state)) await this.#dropHold(state);
  }

  async #dropHold({ jobId }: JobState): Promise<void> {
    await this.#keeper.drop(auditHolderOf(jobId), [this.#world.place]);
  }

  async #release(jobId: string): Promise<void> {
    await this.#durably(() => {
      const job = this.#world.durable.get(jobId);
      if (job !== undefined)
        this.#world.durable.set(jobId, { ...job, state: { ...job.state, heldForAuditUntilMs: 0n } });
    });
    const state = this.#world.durable.get(jobId)?.state;
    if (state !== undefined) await this.#dropHold(state);
    this.#world.counts.released += 1;
  }

  /** The routine look, as a real one takes it. */
  async #checkFloors(): Promise<void> {
    const { durable, place } = this.#world;
    const stateOf = (jobId: string): JobState | undefined =>
      this.#book.has(jobId) ? durable.get(jobId)?.state : undefined;
    await lookAfterFloors({
      look: (at) => floorsOf(this.#world, this.#actor).look(at),
      keeper: this.#keeper,
      places: [place],
      needs: () => this.#holds(),
      isOver: (holder) => {
        const audited = stateOf(auditedJobOf(holder) ?? '');
        if (audited !== undefined) return !isHeldForAudit(audited);
        return isTerminal(stateOf(holder)?.state ?? '');
      },
    });
  }

  async #round(chance: Chance): Promise<void> {
    const incarnation = await floorsOf(this.#world, this.#actor).incarnation();
    if (incarnation !== this.#incarnation) await this.#beginLife();
    for (const jobId of this.#book) await this.#look(jobId);
    if (this.#variant.withHolds === true) {
      await this.#checkFloors();
      for (const jobId of this.#world.heldAfterEnd())
        if (this.#book.has(jobId) && chance.oneIn(RELEASED_ONE_IN)) await this.#release(jobId);
    }
    if (this.#book.size === 0) await this.#actor.turn();
  }

  async #look(jobId: string): Promise<void> {
    const job = this.#world.durable.get(jobId);
    if (job === undefined || isTerminal(job.state.state)) return;
    const seen = await this.#read(jobId);
    if (seen === undefined) return;
    const { acknowledged, stored } = seen;
    while ((await this.#keeper.raise(jobId, { acknowledged, stored })).kind === 'incomplete')
      await this.#keeper.fill([this.#world.place]);
    const end = job.state.pin?.partitions[0]?.end ?? -1n;
    if (acknowledged.offset > end) {
      await this.#end(jobId, JobPhase.completed);
      this.#world.counts.completed += 1;
      return;
    }
    // The checkpoint leaves; another actor lets it land, perhaps after the store was lost and filled again.
    await this.#durably(() => {
      const cursor = this.#world.inStore.get(jobId);
      if (cursor !== undefined) this.#world.onTheWay.push({ jobId, cursor });
    });
  }

  /** In the order of the variant; undefined when the store does not hold the job. */
  async #read(jobId: string): Promise<{ readonly acknowledged: Need; readonly stored: Offset } | undefined> {
    const { raiseOrder = 'acknowledged, store' } = this.#variant;
    const acknowledged = async (): Promise<Need | undefined> => {
      await this.#actor.turn();
      return needOf(this.#world, jobId, this.#world.durable.get(jobId)?.cursor);
    };
    const store = async (): Promise<Need | undefined> => {
      await this.#actor.turn();
      return needOf(this.#world, jobId, this.#world.inStore.get(jobId));
    };
    const first = raiseOrder === 'acknowledged, store' ? await acknowledged() : await store();
    const second =
      raiseOrder === 'acknowledged, store' || raiseOrder === 'store only' ? await store() : await acknowledged();
    const [needed, stored] = raiseOrder === 'acknowledged, store' ? [first, second] : [second, first];
    if (needed === undefined || stored === undefined) return undefined;
    return { acknowledged: needed, stored: stored.offset };
  }
}

function needOf(world: World, jobId: string, cursor: Offset | undefined): Need | undefined {
  const state = world.durable.get(jobId)?.state;
  return state === undefined || cursor === undefined ? undefined : needsOf(state, [ranged(cursor)])[0];
}

function ranged(cursor: Offset) {
  return { partition: 0, cursor, status: 'open', parked: [] };
}
