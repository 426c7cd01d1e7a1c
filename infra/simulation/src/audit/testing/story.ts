/** Histories written by hand: one job over `(-1, 3]` of one partition, four records, one range unless it is cut. */
import type { JobState, RangeCheckpoint } from '@tidemark/contracts';
import type { ParkedRecord, RangeState } from '@tidemark/cursors';
import { samplePin, sampleState } from '@tidemark/jobs/testing';
import { NO_COUNTS, type RangeCounters, rangeIdOf, sizeOfIntervals, sumCounters, toOffset } from '@tidemark/keyspace';
import type { Happening, History, HistoryEvent, JobFacts, OffsetTruth, StoreCall } from '../../history.ts';
import { audit } from '../auditor.ts';

const JOB = 'job-1';
const START = { partition: 0, start: toOffset(-1) };
export const TOKEN = ['1:1', '1:2', '2:1'] as const;

const FACTS: JobFacts = {
  jobId: JOB,
  topic: 'orders',
  fromMs: undefined,
  toMs: undefined,
  ordering: 'none',
  chunkRecords: 4,
  onLost: 'stop',
  fateOf: () => 'done',
};

export class Story {
  readonly #events: HistoryEvent[] = [];
  readonly #facts: JobFacts;
  readonly #log: OffsetTruth[];
  #ranges: RangeState[] = [];
  #epoch = 0n;
  #atMs = 0;

  constructor(facts: Partial<JobFacts> = {}, log: Partial<OffsetTruth>[] = []) {
    this.#facts = { ...FACTS, ...facts };
    this.#log = [0, 1, 2, 3].map((place) => ({ kind: 'record', key: null, timestampMs: 0, ...log[place] }));
  }

  /** Requested, pinned, running, and in the store. */
  get running(): this {
    return this.requested().durable({ state: 'PINNING' }).checkpointed().durable({ state: 'RUNNING' }).installed();
  }

  requested(): this {
    return this.tell({ kind: 'requested', jobId: JOB, highWatermarks: [4n] });
  }

  durable(state: Partial<JobState>, checkpoints: readonly Partial<RangeCheckpoint>[] = []): this {
    const whole = sampleState({ jobId: JOB, pin: samplePin([[-1n, 3n]]), ...state });
    return this.tell({
      kind: 'durable',
      states: [whole],
      checkpoints: checkpoints.map(checkpointOf),
      highWatermarks: new Map([[JOB, [4n]]]),
      logStarts: new Map(),
    });
  }

  checkpointed(checkpoint: Partial<RangeCheckpoint> = {}): this {
    return this.tell({
      kind: 'durable',
      states: [],
      checkpoints: [checkpointOf(checkpoint)],
      highWatermarks: new Map([[JOB, [4n]]]),
      logStarts: new Map(),
    });
  }

  installed(range: Partial<RangeState> = {}): this {
    this.#epoch += 1n;
    this.#ranges = [rangeOf({ ...range, version: BigInt(this.#epoch) * 100n })];
    const request = {
      jobId: JOB,
      definition: '',
      epoch: toOffset(this.#epoch),
      incarnation: '',
      ends: [],
      ranges: this.#ranges,
    };
    return this.#stored({ operation: 'install', request, answer: { kind: 'installed' } });
  }

  granted(token: string = TOKEN[0]): this {
    const { cursor, horizon, end, counters } = this.#range;
    // Whoever was here before may have handed out all of this.
    const maybeRedelivered = counters.maybeRedelivered + (horizon - cursor);
    this.#change({ owner: 'w', token, counters: { ...counters, maybeRedelivered } });
    const call = { slot: `w ${token}`, sequence: 1n };
    const answer = { kind: 'granted', cursor, horizon, end, token, parkedCount: 0 } as const;
    return this.#stored({ operation: 'lease', request: { call, jobId: JOB, range: START, leaseTtlMs: 1 }, answer });
  }

  claimed(upTo: number, token: string = TOKEN[0]): this {
    this.#change({ horizon: toOffset(upTo) });
    const answer = { kind: 'claimed', horizon: toOffset(upTo), end: this.#range.end } as const;
    return this.#stored({ operation: 'claim', request: { ...this.#call(token), upTo: toOffset(upTo) }, answer });
  }

  /** `counts` default to all ok. */
  advanced(
    to: number,
    more: {
      readonly token?: string;
      readonly counts?: Partial<RangeCounters>;
      readonly park?: readonly number[];
      /** First and last offset of what is lost. */
      readonly lost?: readonly [number, number];
    } = {},
  ): this {
    const { token = TOKEN[0], park = [] } = more;
    const { cursor, counters, parked, end } = this.#range;
    const passed = BigInt(to) - cursor;
    const lost = more.lost === undefined ? [] : [{ first: toOffset(more.lost[0]), last: toOffset(more.lost[1]) }];
    const terms = { parked: BigInt(park.length), lost: sizeOfIntervals(lost) };
    const add = { ...NO_COUNTS, ok: passed - terms.parked - terms.lost, ...terms, ...more.counts };
    const now = [...parked, ...park.map(parkedOf)];
    const isDone = toOffset(to) === end && now.length === 0;
    this.#change({
      cursor: toOffset(to),
      parked: now,
      passed: [...this.#range.passed, ...lost],
      counters: sumCounters([counters, add]),
      status: isDone ? 'done' : 'open',
    });
    const move = { from: cursor, to: toOffset(to), add, park: [], passed: lost };
    const request = { ...this.#call(token), ...move, leaseTtlMs: 1 };
    return this.#stored({ operation: 'advance', request, answer: { kind: 'advanced', end, done: isDone } });
  }

  /** The store changes without a call of ours. */
  changed(change: Partial<RangeState>): this {
    this.#change(change);
    return this.#stored({ operation: 'setMode', request: { jobId: JOB, mode: 'running' }, answer: undefined });
  }

  delivered(offset: number, more: { readonly token?: string; readonly call?: number } = {}): this {
    return this.tell({ kind: 'delivered', ...this.#delivery(offset, more) });
  }

  answered(offset: number, more: { readonly token?: string } = {}): this {
    return this.tell({ kind: 'answered', outcome: 'done', ...this.#delivery(offset, more) });
  }

  handled(...these: readonly number[]): this {
    for (const offset of these) this.delivered(offset, { call: offset }).answered(offset);
    return this;
  }

  floor(offset: number): this {
    const floors = [{ holder: JOB, offset: toOffset(offset), reservedUntilMs: undefined }];
    const place = { topic: 'orders', topicId: '', partition: 0 };
    return this.tell({ kind: 'floors', place, look: { life: '', mark: toOffset(0), floors } });
  }

  cut(before: number, who: 'guard' | 'stranger' = 'guard'): this {
    return this.tell({ kind: 'cut', who, topic: 'orders', partition: 0, before: BigInt(before) });
  }

  /** `lost` is what its ranges passed unless it says otherwise. */
  completed(totals: Partial<RangeCounters> = {}, said: Partial<JobState> = {}): this {
    const { cursor, counters, status, parked } = this.#range;
    const passed = this.#range.passed.map((interval) => ({ partition: 0, ...interval }));
    const waiting = parked.map(({ dueAtMs, ...each }) => ({ ...each, dueAtMs: 0n }));
    const last = { cursor, counters, status, passed, parked: waiting };
    const state = { state: 'COMPLETED', reason: 'clean', totals: { ...counters, ...totals }, lost: passed, ...said };
    return this.durable(state, [{ ...last, version: 1_000n }]);
  }

  later(ms: number): this {
    this.#atMs += ms;
    return this;
  }

  tell(happening: Happening): this {
    this.#atMs += 1;
    this.#events.push({ ...happening, atMs: this.#atMs, by: 'somebody' });
    return this;
  }

  get faults(): readonly string[] {
    const history: History = {
      jobs: new Map([[JOB, this.#facts]]),
      logs: new Map([['orders', [this.#log]]]),
      events: this.#events,
      linksAreGood: true,
      ended: 'reached',
    };
    return audit(history).map((fault) => fault.replace(/^\d.*?: /, ''));
  }

  get #range(): RangeState {
    return this.#ranges[0] ?? rangeOf({});
  }

  #change(change: Partial<RangeState>): void {
    this.#ranges = [{ ...this.#range, ...change, version: this.#range.version + 1n }, ...this.#ranges.slice(1)];
  }

  #call(token: string) {
    return { call: { slot: `w ${token}`, sequence: 2n }, jobId: JOB, range: START, token };
  }

  #stored(call: StoreCall): this {
    return this.tell({ kind: 'stored', call, look: { epoch: this.#epoch, mode: 'running', ranges: this.#ranges } });
  }

  #delivery(offset: number, { token = TOKEN[0], call = 0 }: { readonly token?: string; readonly call?: number }) {
    return { jobId: JOB, partition: 0, offset: BigInt(offset), rangeId: rangeIdOf(START), token, attempt: 1, call };
  }
}

function rangeOf(fields: Partial<RangeState>): RangeState {
  return {
    ...START,
    end: toOffset(3),
    cursor: toOffset(-1),
    horizon: toOffset(-1),
    status: 'open',
    note: '',
    noteSinceMs: 0,
    lost: [],
    passed: [],
    parked: [],
    counters: NO_COUNTS,
    owner: '',
    token: '',
    leaseUntilMs: 0,
    notBeforeMs: 0,
    version: 1n,
    ...fields,
  };
}

function checkpointOf(fields: Partial<RangeCheckpoint>): RangeCheckpoint {
  return {
    formatVersion: 1,
    jobId: JOB,
    partition: 0,
    start: -1n,
    cursor: -1n,
    horizon: -1n,
    status: 'open',
    note: '',
    counters: NO_COUNTS,
    lost: [],
    passed: [],
    parked: [],
    token: '',
    version: 1n,
    atMs: 0n,
    ...fields,
  };
}

function parkedOf(offset: number): ParkedRecord {
  return { offset: toOffset(offset), attempt: 3, dueAtMs: 0, faultClass: 'transient', keyHash: '' };
}
