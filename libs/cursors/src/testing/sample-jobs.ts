/** Small jobs and calls for tests of this room. */
import {
  NO_COUNTS,
  type Offset,
  type RangeCounters,
  type RangeRef,
  sizeOfIntervals,
  toOffset,
} from '@tidemark/keyspace';
import type {
  CallId,
  CursorStore,
  JobInstall,
  JobMode,
  LostInterval,
  ParkedRecord,
  Parking,
  RangeState,
} from '../ports.ts';

/** Longer than any test: a lease that never runs out. With 0 it has run out when the next call looks. */
export const FOR_LONG_MS = 3_600_000;

export interface SampleRange {
  readonly partition?: number;
  readonly start: bigint;
  readonly cursor?: bigint;
  readonly horizon?: bigint;
  readonly status?: RangeState['status'];
  readonly note?: string;
  /** Offsets of records that wait for their second attempt. */
  readonly parked?: readonly bigint[];
  readonly passed?: readonly LostInterval[];
}

export function sampleRange(range: SampleRange): JobInstall['ranges'][number] {
  const cursor = range.cursor ?? range.start;
  return {
    partition: range.partition ?? 0,
    start: toOffset(range.start),
    cursor: toOffset(cursor),
    horizon: toOffset(range.horizon ?? cursor),
    status: range.status ?? 'open',
    note: range.note ?? '',
    lost: [],
    passed: range.passed ?? [],
    parked: (range.parked ?? []).map(parkedRecord),
    counters: counts({ parked: BigInt(range.parked?.length ?? 0), lost: sizeOfIntervals(range.passed ?? []) }),
    version: 0n,
  };
}

export function parkedRecord(offset: bigint): ParkedRecord {
  return { offset: toOffset(offset), attempt: 1, dueAtMs: 1_000, faultClass: 'transient', keyHash: '' };
}

export function parking(offset: bigint, more: Partial<Parking> = {}): Parking {
  return { offset: toOffset(offset), attempt: 1, delayMs: 0, faultClass: 'transient', keyHash: '', ...more };
}

export function interval(first: bigint, last: bigint): LostInterval {
  // Unchecked, so that a test can name what no range has.
  return { first: first as Offset, last: last as Offset };
}

/** One partition that ends at `end` unless `ends` says otherwise. */
export async function installSample(
  store: CursorStore,
  job: {
    readonly jobId: string;
    readonly epoch?: bigint;
    readonly mode?: JobMode;
    readonly ranges: readonly SampleRange[];
    readonly end?: bigint;
    readonly ends?: JobInstall['ends'];
  },
): ReturnType<CursorStore['install']> {
  return store.install({
    jobId: job.jobId,
    definition: '{}',
    epoch: toOffset(job.epoch ?? 1n),
    incarnation: await store.incarnation(),
    ...(job.mode === undefined ? {} : { mode: job.mode }),
    ends: job.ends ?? [{ partition: 0, end: toOffset(job.end ?? 99n) }],
    ranges: job.ranges.map(sampleRange),
  });
}

export const FIRST: RangeRef = { partition: 0, start: toOffset(-1n) };

/** A job of one range, (-1, 99]. */
export async function installOneRange(store: CursorStore, jobId: string): Promise<string> {
  await installSample(store, { jobId, ranges: [{ start: FIRST.start }] });
  return jobId;
}

export function counts(some: Partial<RangeCounters>): RangeCounters {
  return { ...NO_COUNTS, ...some };
}

/** A slot whose calls on one range are numbered by themselves. */
export function slotOn(
  store: CursorStore,
  at: { readonly slot: string; readonly jobId: string; readonly range: RangeRef },
) {
  let sequence = 0n;
  const { slot, jobId, range } = at;
  const fresh = (): CallId => {
    sequence += 1n;
    return { slot, sequence };
  };
  const target = () => ({ call: fresh(), jobId, range });
  return {
    fresh,
    lease: (leaseTtlMs = FOR_LONG_MS, call = fresh()) => store.lease({ call, jobId, range, leaseTtlMs }),
    renew: (token: string, note = '', leaseTtlMs = FOR_LONG_MS) =>
      store.renew({ ...target(), token, leaseTtlMs, note }),
    claim: (token: string, upTo: bigint) => store.claim({ ...target(), token, upTo: toOffset(upTo) }),
    advance: (token: string, from: bigint, to: bigint, leaseTtlMs = FOR_LONG_MS, call = fresh()) =>
      store.advance({
        ...{ call, jobId, range, token, leaseTtlMs, park: [], passed: [] },
        from: toOffset(from),
        to: toOffset(to),
        add: counts({ ok: to > from ? to - from : 0n }),
      }),
    /** An advance that parks some of what it passes; the rest is ok. */
    park: (token: string, from: bigint, to: bigint, park: readonly Parking[], call = fresh()) =>
      store.advance({
        ...{ call, jobId, range, token, leaseTtlMs: FOR_LONG_MS, park, passed: [] },
        from: toOffset(from),
        to: toOffset(to),
        add: counts({ ok: to - from - BigInt(park.length), parked: BigInt(park.length) }),
      }),
    /** An advance over what is lost; the rest is ok. */
    pass: (token: string, from: bigint, to: bigint, passed: readonly LostInterval[], call = fresh()) => {
      const lost = sizeOfIntervals(passed);
      return store.advance({
        ...{ call, jobId, range, token, leaseTtlMs: FOR_LONG_MS, park: [], passed },
        from: toOffset(from),
        to: toOffset(to),
        add: counts({ ok: to - from - lost, lost }),
      });
    },
    /** Settles parked records as lost. */
    lose: (token: string, passed: readonly LostInterval[], call = fresh()) => {
      const lost = sizeOfIntervals(passed);
      const settled = passed.flatMap(({ first, last }) =>
        Array.from({ length: Number(last - first) + 1 }, (_, index) => toOffset(first + BigInt(index))),
      );
      return store.settle({
        ...{ call, jobId, range, token, leaseTtlMs: FOR_LONG_MS, again: [], passed, settled },
        add: counts({ lost, parked: -lost }),
      });
    },
    /** Settles as ok. */
    settle: (token: string, settled: readonly bigint[], again: readonly Parking[] = [], call = fresh()) =>
      store.settle({
        ...{ call, jobId, range, token, leaseTtlMs: FOR_LONG_MS, again, passed: [] },
        settled: settled.map(toOffset),
        add: counts({ ok: BigInt(settled.length), parked: -BigInt(settled.length), retries: BigInt(again.length) }),
      }),
    parked: () => store.parked({ jobId, range }),
    release: (token: string, options: { untouched?: boolean; delayMs?: number; note?: string } = {}) =>
      store.release({ ...target(), token, delayMs: 0, note: '', untouched: false, ...options }),
    stop: (token: string, note = 'stopped', lost: readonly { first: Offset; last: Offset }[] = []) =>
      store.stop({ ...target(), token, note, lost }),
    /** Leases, and returns the token; throws when the range is not to be had. */
    async granted(leaseTtlMs = FOR_LONG_MS): Promise<string> {
      const answer = await store.lease({ ...target(), leaseTtlMs });
      if (answer.kind !== 'granted') throw new Error(`lease answered ${answer.kind}`);
      return answer.token;
    },
  };
}

/** The only range of the job, or the one at `start`. */
export async function rangeOf(store: CursorStore, jobId: string, start = -1n): Promise<RangeState> {
  const snapshot = await store.snapshot(jobId);
  const found = snapshot?.ranges.find((range) => range.start === start);
  if (found === undefined) throw new Error(`job ${jobId} has no range at ${start}`);
  return found;
}
