/** What the distributor knows of all jobs: exactly what is durable, because it is changed only after an acknowledgement. */
import type { JobState, RangeCheckpoint } from '@tidemark/contracts';
import {
  type DurableJobs,
  definitionOf,
  isHeldForAudit,
  isTerminal,
  JobPhase,
  rangeIdOfCheckpoint,
  rangeOfCheckpoint,
  tilingFaults,
  windowsOf,
  wordOf,
} from '@tidemark/jobs';
import {
  ErrorClass,
  type Offset,
  type PartitionWindow,
  type RangeRef,
  TidemarkError,
  toOffset,
} from '@tidemark/keyspace';

/** A job that was pinned and has not ended; it may not be accepted yet (PINNING). */
export interface LiveJob {
  readonly jobId: string;
  readonly state: JobState;
  /** For the workers, as text. */
  readonly definition: string;
  readonly windows: readonly PartitionWindow[];
  /** By range id: what a restore would yield now. */
  readonly checkpoints: ReadonlyMap<string, RangeCheckpoint>;
}

export class JobBook {
  readonly #states: Map<string, JobState>;
  readonly #live = new Map<string, LiveJob>();
  /** Of jobs that ended: of which ranges there are checkpoints. */
  readonly #endedRanges: Map<string, readonly RangeRef[]>;
  readonly #heldAfterEnd = new Map<string, JobState>();
  /** The next offset of the jobs topic that was not applied yet. */
  nextOffset: Offset;
  /** When the last transaction before this session was written; undefined when there was none. */
  readonly lastCommitMs: bigint | undefined;

  /** Throws TidemarkError `bug` (RANGES_DO_NOT_TILE) when the checkpoints of a job leave a hole or overlap. */
  constructor(durable: DurableJobs) {
    this.#states = new Map(durable.states);
    this.#endedRanges = new Map(durable.endedRanges);
    this.nextOffset = toOffset(durable.position?.nextOffset ?? 0n);
    this.lastCommitMs = durable.position?.atMs;
    for (const state of durable.states.values()) {
      if (isLive(state)) this.#live.set(state.jobId, openJob(state, durable.checkpoints.get(state.jobId) ?? []));
      this.#noteHold(state);
    }
  }

  state(jobId: string): JobState | undefined {
    return this.#states.get(jobId);
  }

  live(jobId: string): LiveJob | undefined {
    return this.#live.get(jobId);
  }

  /** Pinned, and neither accepted nor refused: a crash came in between. */
  pinning(): readonly LiveJob[] {
    return this.#inState((state) => state === JobPhase.pinning);
  }

  /** Accepted and not ended: what floors are held for, whatever else was given up. */
  accepted(): readonly LiveJob[] {
    return this.#inState((state) => state !== JobPhase.pinning);
  }

  /** Those whose ranges may be worked on, and so move: what a round has to look at. */
  active(): readonly LiveJob[] {
    return this.#inState((state) => ACTIVE.has(state));
  }

  /** Paused and suspended ones: nothing of them moves, but the store shall hold them. */
  resting(): readonly LiveJob[] {
    return this.#inState((state) => !ACTIVE.has(state) && state !== JobPhase.pinning);
  }

  running(): readonly LiveJob[] {
    return this.#inState((state) => state === JobPhase.running);
  }

  /** Of every job that is remembered. */
  states(): Iterable<JobState> {
    return this.#states.values();
  }

  ended(): readonly JobState[] {
    return [...this.#states.values()].filter(({ state }) => isTerminal(state));
  }

  /** Accepted jobs whose whole window the log keeps for an audit, and those of them that have ended. */
  *heldForAudit(): Generator<JobState> {
    for (const { state } of this.accepted()) if (isHeldForAudit(state)) yield state;
    yield* this.#heldAfterEnd.values();
  }

  isHeldForAudit(jobId: string): boolean {
    const state = this.#states.get(jobId);
    return state !== undefined && isHeldForAudit(state);
  }

  /** Held ones that have ended: their deadline is known. */
  heldAfterEnd(): readonly JobState[] {
    return [...this.#heldAfterEnd.values()];
  }

  /** In states that only a newer distributor writes. */
  foreign(): readonly JobState[] {
    return [...this.#states.values()].filter((state) => !isTerminal(state.state) && !isLive(state));
  }

  counts(): { readonly running: number; readonly resting: number } {
    return { running: this.running().length, resting: this.resting().length };
  }

  /** How many jobs are in each state; every state has a number. */
  byState(): ReadonlyMap<JobPhase, number> {
    const counts = new Map<JobPhase, number>(Object.values(JobPhase).map((phase) => [phase, 0]));
    for (const { state } of this.#states.values()) {
      const phase = wordOf(JobPhase, state);
      if (phase !== undefined) counts.set(phase, (counts.get(phase) ?? 0) + 1);
    }
    return counts;
  }

  /** After the acknowledgement of a transaction that held the state and these checkpoints. */
  record(state: JobState, checkpoints: readonly RangeCheckpoint[]): void {
    this.#states.set(state.jobId, state);
    this.#noteHold(state);
    if (!isLive(state)) {
      this.#close(state.jobId, checkpoints);
      return;
    }
    const known = this.#live.get(state.jobId);
    if (known === undefined) {
      this.#live.set(state.jobId, openJob(state, checkpoints));
      return;
    }
    const merged = new Map(known.checkpoints);
    for (const checkpoint of checkpoints) merged.set(rangeIdOfCheckpoint(checkpoint), checkpoint);
    this.#live.set(state.jobId, { ...known, state, checkpoints: merged });
  }

  /** Of a job that has ended. */
  endedRanges(jobId: string): readonly RangeRef[] {
    return this.#endedRanges.get(jobId) ?? [];
  }

  /** After the acknowledgement of a transaction that removed it. */
  forget(jobId: string): void {
    this.#states.delete(jobId);
    this.#live.delete(jobId);
    this.#endedRanges.delete(jobId);
    this.#heldAfterEnd.delete(jobId);
  }

  #close(jobId: string, last: readonly RangeCheckpoint[]): void {
    const known = this.#live.get(jobId);
    this.#live.delete(jobId);
    if (known === undefined) return;
    const ranges = new Map<string, RangeRef>();
    for (const checkpoint of [...known.checkpoints.values(), ...last])
      ranges.set(rangeIdOfCheckpoint(checkpoint), {
        partition: checkpoint.partition,
        start: toOffset(checkpoint.start),
      });
    if (ranges.size > 0) this.#endedRanges.set(jobId, [...ranges.values()]);
  }

  #noteHold(state: JobState): void {
    if (isTerminal(state.state) && isHeldForAudit(state)) this.#heldAfterEnd.set(state.jobId, state);
    else this.#heldAfterEnd.delete(state.jobId);
  }

  #inState(fits: (state: string) => boolean): readonly LiveJob[] {
    return [...this.#live.values()].filter(({ state }) => fits(state.state));
  }
}

const ACTIVE: ReadonlySet<string> = new Set([JobPhase.running, JobPhase.pausing, JobPhase.cancelling]);
const LIVE: ReadonlySet<string> = new Set([...ACTIVE, JobPhase.pinning, JobPhase.paused, JobPhase.suspended]);

function isLive(state: JobState): boolean {
  return LIVE.has(state.state);
}

function openJob(state: JobState, checkpoints: readonly RangeCheckpoint[]): LiveJob {
  const windows = state.pin === null ? [] : windowsOf(state.pin);
  const faults = tilingFaults(windows, checkpoints.map(rangeOfCheckpoint));
  if (faults.length > 0) {
    throw new TidemarkError({
      code: 'RANGES_DO_NOT_TILE',
      class: ErrorClass.bug,
      message: `the stored ranges of job ${state.jobId} do not tile its window, nothing is restored from them: ${faults.join('; ')}`,
      context: { jobId: state.jobId },
    });
  }
  return {
    jobId: state.jobId,
    state,
    definition: definitionOf(state),
    windows,
    checkpoints: new Map(checkpoints.map((checkpoint) => [rangeIdOfCheckpoint(checkpoint), checkpoint])),
  };
}
