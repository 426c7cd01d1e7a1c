/** What is true at a moment of a history, folded from the events up to it. Rules read it; nothing here judges. */
import type { JobState, RangeCheckpoint } from '@tidemark/contracts';
import type { RangeState } from '@tidemark/cursors';
import { isTerminal } from '@tidemark/jobs';
import { rangeIdOf, toOffset } from '@tidemark/keyspace';
import type { History, HistoryEvent, JobFacts, JobLook, OffsetTruth } from '../history.ts';

export type Settled = 'done' | 'skip' | 'dead letter';

interface Window {
  readonly partition: number;
  readonly start: bigint;
  readonly end: bigint;
}

export class JobLedger {
  readonly facts: JobFacts;
  readonly #history: History;
  readonly #ledger: Ledger;
  state: JobState | undefined;
  windows: readonly Window[] = [];
  /** By partition and offset: who says that it is settled. */
  readonly settled = new Map<string, Settled>();
  /** By range id: the youngest durable record. */
  readonly checkpoints = new Map<string, RangeCheckpoint>();
  /** As the store shows it; undefined while the store does not hold the job. */
  look: JobLook | undefined;
  /** Counts the fillings of the store, so that looks of one filling can be compared. */
  filling = 0;

  constructor(facts: JobFacts, history: History, ledger: Ledger) {
    this.facts = facts;
    this.#history = history;
    this.#ledger = ledger;
  }

  get isLive(): boolean {
    return this.state !== undefined && !isTerminal(this.state.state);
  }

  /** Accepted, and somebody may still ask for its records. */
  get isPromised(): boolean {
    return this.isLive && this.state?.state !== 'REQUESTED' && this.state?.state !== 'PINNING';
  }

  truth(partition: number, offset: bigint): OffsetTruth | undefined {
    return this.#history.logs.get(this.facts.topic)?.[partition]?.[Number(offset)];
  }

  isRecord(partition: number, offset: bigint): boolean {
    return this.truth(partition, offset)?.kind === 'record';
  }

  /** A record that the job does not ask for: its timestamp is outside the window. */
  isFiltered(partition: number, offset: bigint): boolean {
    const { fromMs, toMs } = this.facts;
    const { timestampMs = 0 } = this.truth(partition, offset) ?? {};
    return (fromMs !== undefined && timestampMs < fromMs) || (toMs !== undefined && timestampMs >= toMs);
  }

  logStart(partition: number): bigint {
    return this.#ledger.logStart(this.facts.topic, partition);
  }

  /** Whether nothing is left to do for the offset: settled, no record, or removed by somebody. */
  isOver(partition: number, offset: bigint): boolean {
    if (this.settled.has(placeOf(partition, offset))) return true;
    if (!this.isRecord(partition, offset) || this.isFiltered(partition, offset)) return true;
    return offset < this.logStart(partition);
  }

  /** The durable ranges of a partition by start, each with where it ends: where the next one starts. */
  restorable(partition: number): readonly Restorable[] {
    const end = this.windows.find((window) => window.partition === partition)?.end ?? -1n;
    const own = [...this.checkpoints.values()]
      .filter((each) => each.partition === partition)
      .sort((a, b) => (a.start < b.start ? -1 : 1));
    return own.map((checkpoint, index) => ({ ...checkpoint, end: own[index + 1]?.start ?? end }));
  }

  /** The lowest offset that a restore from the durable checkpoints would need; undefined when none. */
  neededByRestore(partition: number): bigint | undefined {
    return neededOf(this.restorable(partition));
  }

  neededByStore(partition: number): bigint | undefined {
    return neededOf((this.look?.ranges ?? []).filter((each) => each.partition === partition));
  }
}

export class Ledger {
  readonly jobs: ReadonlyMap<string, JobLedger>;
  readonly #starts = new Map<string, bigint>();
  /** Topics that somebody else cut. */
  readonly cutByStrangers = new Set<string>();
  /** Who made the newest durable commit. */
  youngest = '';

  constructor(history: History) {
    this.jobs = new Map([...history.jobs].map(([jobId, facts]) => [jobId, new JobLedger(facts, history, this)]));
  }

  logStart(topic: string, partition: number): bigint {
    return this.#starts.get(`${topic}/${partition}`) ?? 0n;
  }

  apply(event: HistoryEvent): void {
    if (event.kind === 'durable') this.#applyDurable(event);
    if (event.kind === 'stored') this.#applyStored(event);
    if (event.kind === 'cut') this.#applyCut(event);
    if (event.kind === 'answered' || event.kind === 'dead letter') {
      const how = event.kind === 'answered' ? event.outcome : event.kind;
      this.jobs.get(event.jobId)?.settled.set(placeOf(event.partition, event.offset), how);
    }
    if (event.kind === 'store lost') for (const job of this.jobs.values()) job.look = undefined;
  }

  #applyDurable({ by, states, checkpoints }: Extract<HistoryEvent, { kind: 'durable' }>): void {
    this.youngest = by;
    for (const state of states) {
      const job = this.jobs.get(state.jobId);
      if (job === undefined) continue;
      job.state = state;
      if (state.pin !== null) job.windows = state.pin.partitions.filter(({ start, end }) => end > start);
    }
    for (const checkpoint of checkpoints) {
      const job = this.jobs.get(checkpoint.jobId);
      const rangeId = rangeIdOf({ partition: checkpoint.partition, start: toOffset(checkpoint.start) });
      const known = job?.checkpoints.get(rangeId);
      if (known === undefined || known.version <= checkpoint.version) job?.checkpoints.set(rangeId, checkpoint);
    }
  }

  #applyStored({ call, look }: Extract<HistoryEvent, { kind: 'stored' }>): void {
    const job = this.jobs.get(jobOf(call));
    if (job === undefined) return;
    if (call.operation === 'install' && look !== undefined && look.epoch !== job.look?.epoch) job.filling += 1;
    job.look = look;
  }

  #applyCut({ who, topic, partition, before }: Extract<HistoryEvent, { kind: 'cut' }>): void {
    const place = `${topic}/${partition}`;
    if (before > (this.#starts.get(place) ?? 0n)) this.#starts.set(place, before);
    if (who === 'stranger') this.cutByStrangers.add(topic);
  }
}

export function jobOf(call: Extract<HistoryEvent, { kind: 'stored' }>['call']): string {
  return call.request.jobId;
}

export function placeOf(partition: number, offset: bigint): string {
  return `${partition}:${offset}`;
}

export interface Restorable extends RangeCheckpoint {
  readonly end: bigint;
}

type Ranged = Pick<RangeState | Restorable, 'cursor' | 'status' | 'end'> & {
  readonly parked: readonly { readonly offset: bigint }[];
};

function neededOf(ranges: readonly Ranged[]): bigint | undefined {
  let lowest: bigint | undefined;
  for (const { cursor, status, end, parked } of ranges) {
    if (status === 'stopped' || (status === 'done' && cursor === end)) continue;
    const first = [...parked.map(({ offset }) => offset), cursor + 1n].reduce((a, b) => (a < b ? a : b));
    if (lowest === undefined || first < lowest) lowest = first;
  }
  return lowest;
}
