/** What a collector could have seen, made by hand. */
import type { JobState, SeriesState } from '@tidemark/contracts';
import type { RangeState } from '@tidemark/cursors';
import { newRequest, type RequestFields } from '@tidemark/jobs';
import { NO_COUNTS, toOffset } from '@tidemark/keyspace';
import type { Sight } from '../collect/collector.ts';
import type { Known } from '../collect/feed.ts';
import type { LogEnds } from '../collect/log-ends.ts';
import { createPaces } from '../collect/paces.ts';
import { tracksOf } from '../collect/tracks.ts';
import type { Work } from '../collect/work.ts';

export const NOW_MS = 1_800_000_000_000;

export function known<Value>(value: Value, atMs: number = NOW_MS, answeredAtMs: number = atMs): Known<Value> {
  return { kind: 'known', value, atMs, answeredAtMs };
}

export const DOWN: Known<never> = { kind: 'unknown', reason: 'connection refused', wasAsked: true };

/** A job over partitions `(start, end]` of a topic whose id is its name. */
export function jobState(
  fields: Partial<RequestFields> & {
    readonly state?: string;
    readonly reason?: string;
    readonly windows?: readonly (readonly [start: number, end: number])[];
    readonly requestedAtMs?: number;
  },
): JobState {
  const { state = 'RUNNING', reason = '', windows = [[-1, 99]], requestedAtMs = NOW_MS - 60_000, ...request } = fields;
  const jobId = request.jobId ?? 'job-1';
  const topic = request.topic ?? 'orders';
  return {
    formatVersion: 1,
    jobId,
    request: newRequest({ handler: 'count', ...request, jobId, topic }),
    state,
    reason,
    pin:
      windows.length === 0
        ? null
        : {
            pinnedAtMs: BigInt(requestedAtMs),
            topicId: topic,
            unsentKeys: 0n,
            unsent: [],
            partitions: windows.map(([start, end], partition) => ({
              partition,
              start: BigInt(start),
              end: BigInt(end),
              logStartOffset: 0n,
              highWatermark: BigInt(end + 1),
              clamped: '',
            })),
          },
    totals: null,
    lost: [],
    requestedAtMs: BigInt(requestedAtMs),
    updatedAtMs: BigInt(requestedAtMs),
    lastCommandPartition: 0,
    lastCommandOffset: 0n,
    budget: null,
    deadLettersMax: -1n,
    ranMs: 0n,
    runningSinceMs: 0n,
    deadlineAtMs: 0n,
    commandIds: [],
    heldForAuditUntilMs: 0n,
    releasedFloors: [],
  };
}

export function rangeState(
  fields: Partial<Omit<RangeState, 'start' | 'end' | 'cursor' | 'horizon'>> & {
    readonly start: number;
    readonly end: number;
    readonly cursor: number;
    readonly horizon?: number;
  },
): RangeState {
  const { start, end, cursor, horizon = cursor, ...rest } = fields;
  return {
    partition: 0,
    start: toOffset(start),
    end: toOffset(end),
    cursor: toOffset(cursor),
    horizon: toOffset(horizon),
    status: cursor === end ? 'done' : 'open',
    note: '',
    noteSinceMs: 0,
    lost: [],
    passed: [],
    parked: [],
    counters: { ...NO_COUNTS, ok: BigInt(cursor - start) },
    owner: '',
    token: '',
    leaseUntilMs: 0,
    notBeforeMs: 0,
    version: 1n,
    ...rest,
  };
}

/** `[logStart, highWatermark]` by partition. */
export function present(topicId: string, ...partitions: readonly (readonly [logStart: number, end: number])[]) {
  return {
    kind: 'present' as const,
    topicId,
    partitions: partitions.map(([logStart, end], partition) => ({
      partition,
      logStartOffset: toOffset(logStart),
      lastStableOffset: toOffset(end),
      highWatermark: toOffset(end),
    })),
  };
}

export function workOf(options: Partial<Work> = {}): Work {
  const ranges = options.ranges ?? new Map();
  return {
    storeNowMs: NOW_MS,
    workers: [],
    hints: new Map(),
    ranges,
    followed: new Set(ranges.keys()),
    jobsOmitted: 0,
    ...options,
  };
}

export const WORKER = {
  workerId: 'w1',
  host: 'here',
  pid: 7,
  handlers: [{ name: 'count', idempotent: true }],
  atMs: NOW_MS - 1_000,
};

export function sightOf(options: {
  readonly states?: readonly JobState[];
  readonly series?: readonly SeriesState[];
  readonly work?: Known<Work>;
  readonly ends?: Known<LogEnds>;
  readonly more?: Partial<Sight>;
}): Sight {
  const states = new Map((options.states ?? []).map((state) => [state.jobId, state]));
  const work = options.work ?? known(workOf());
  return {
    nowMs: NOW_MS,
    states: known(states),
    work,
    tracks: tracksOf(states, work.kind === 'known' ? work.value.ranges : new Map()),
    ends: options.ends ?? known(new Map()),
    ages: () => undefined,
    paces: createPaces(),
    series: known(new Map((options.series ?? []).map((state) => [state.series, state]))),
    floors: known(new Map()),
    letterTopics: known({ topics: [], omitted: 0 }),
    position: known(undefined),
    outbox: known({
      kind: 'installed',
      publisher: 'relay-1',
      backlog: { rows: 0, isAtLeast: false, lagMs: null },
      blockers: [],
      parked: [],
    }),
    registry: known(true),
    ...options.more,
  };
}
